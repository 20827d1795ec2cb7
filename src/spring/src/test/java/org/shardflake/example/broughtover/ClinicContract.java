/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.shardflake.router.ShardRouter;
import org.springframework.context.ApplicationContext;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Sort;

/** The application's own tests, which know nothing of shards. The rows are those of {@link BroughtOver}, and what tests before have added. */
interface ClinicContract {

    LocalDate DAY = LocalDate.of(2026, 11, 27);

    ApplicationContext application();

    default ClinicService clinic() {
        return application().getBean(ClinicService.class);
    }

    default Owner owner(String lastName) {
        return clinic().register(new Owner("Ann", lastName, "Ulm"));
    }

    static long id(Owner owner) {
        return Objects.requireNonNull(owner.getId());
    }

    default Owner found(long id) {
        return clinic().find(id).orElseThrow();
    }

    @Test
    default void olderRowsAreFoundByTheirIds() {
        Owner george = found(1);

        assertThat(george.getLastName()).isEqualTo("Franklin");
        assertThat(george.getPet(1).getType().getName()).isEqualTo("cat");
        assertThat(george.getPet(1).getVisits())
                .extracting(Visit::getDescription)
                .containsExactly("rabies shot");
    }

    @Test
    default void ownersAreRegisteredAndChanged() {
        long id = id(owner("Registered"));

        Owner detached = found(id);
        detached.setCity("Trier");
        clinic().update(detached);

        assertThat(found(id).getCity()).isEqualTo("Trier");
    }

    @Test
    default void petsAndVisitsAreAdded() {
        long id = id(owner("WithPets"));
        clinic().addPet(id, "Leo", DAY, 1);
        clinic().addPet(id, "Basil", DAY, 2);
        long basil = Objects.requireNonNull(found(id).getPets().get(0).getId());
        clinic().addVisit(id, basil, DAY, "first");

        assertThat(found(id).getPets()).extracting(Pet::getName).containsExactly("Basil", "Leo");
        assertThat(found(id).getPets())
                .extracting(pet -> pet.getType().getName())
                .containsExactly("dog", "cat");
        assertThat(found(id).getPet(basil).getVisits())
                .extracting(Visit::getDescription)
                .containsExactly("first");
    }

    @Test
    default void anOlderOwnerGetsAVisit() {
        clinic().addVisit(2, 2, DAY, "again");

        assertThat(found(2).getPet(2).getVisits())
                .extracting(Visit::getDescription)
                .contains("again");
    }

    @Test
    default void vetsHaveTheirSpecialties() {
        assertThat(clinic().vets())
                .extracting(
                        Vet::getLastName,
                        vet -> vet.getSpecialties().stream()
                                .map(Specialty::getName)
                                .toList())
                .contains(tuple("Douglas", List.of("dentistry", "surgery")));
    }

    @Test
    default void vetsAreHiredAndRenamed() {
        clinic().hire(new Vet(7, "Leary"));
        clinic().hire(new Vet(7, "Stevens"));
        application()
                .getBeanProvider(ShardRouter.class)
                .ifAvailable(router -> router.reference().awaitEverywhere(Duration.ofMinutes(1)));

        for (int i = 0; i < 10; i++) {
            assertThat(clinic().vets())
                    .extracting(Vet::getLastName)
                    .contains("Stevens")
                    .doesNotContain("Leary");
        }
    }

    @Test
    default void ownersAreFoundByNamePageByPage() {
        List<Long> expected = new ArrayList<>();
        for (String lastName : List.of("Page1", "Page2", "Page3")) {
            IntStream.range(0, 4).mapToObj(i -> id(owner(lastName))).sorted().forEach(expected::add);
        }
        owner("Other");

        List<Long> found = new ArrayList<>();
        for (int number = 0; number < 3; number++) {
            Page<Owner> page = clinic().findByLastName("Page", PageRequest.of(number, 5, Sort.by("lastName", "id")));
            assertThat(page.getTotalElements()).isEqualTo(12);
            assertThat(page.hasNext()).isEqualTo(number < 2);
            page.forEach(owner -> found.add(id(owner)));
        }

        assertThat(found).containsExactlyElementsOf(expected);
    }

    @Test
    default void theReportHasTheLatestVisitsOfAllOwners() {
        for (int i = 0; i < 4; i++) {
            long id = id(owner("Reported"));
            clinic().addPet(id, "Max", DAY, 1);
            clinic().addVisit(
                            id,
                            Objects.requireNonNull(found(id).getPets().get(0).getId()),
                            DAY.plusYears(1 + i),
                            "visit " + i);
        }

        Page<Visit> report = clinic().visits(
                        PageRequest.of(0, 3, Sort.by("date").descending().and(Sort.by("id"))));

        assertThat(report).extracting(Visit::getDescription).containsExactly("visit 3", "visit 2", "visit 1");
    }

    @Test
    default void ownersAreCounted() {
        long before = clinic().countOwners();
        owner("Counted");

        assertThat(clinic().countOwners()).isEqualTo(before + 1);
    }

    @Test
    default void visitsAreImported() {
        List<VisitImport.Line> lines = new ArrayList<>();
        List<Long> ids = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            long id = id(owner("Imported"));
            clinic().addPet(id, "Max", DAY, 1);
            long pet = Objects.requireNonNull(found(id).getPets().get(0).getId());
            lines.add(new VisitImport.Line(id, pet, DAY, "one"));
            lines.add(new VisitImport.Line(id, pet, DAY.plusDays(1), "two"));
            ids.add(id);
        }

        application().getBean(VisitImport.class).run(lines);

        for (long id : ids) {
            assertThat(found(id).getPets().get(0).getVisits())
                    .extracting(Visit::getDescription)
                    .containsExactly("one", "two");
        }
    }

    @Test
    default void peopleLogInByName() {
        Logins logins = application().getBean(Logins.class);
        logins.save(new Login("ann", "secret"));

        assertThat(logins.findById("ann")).map(Login::getPassword).hasValue("secret");
        assertThat(logins.findById("admin")).map(Login::getPassword).hasValue("admin");
        assertThat(logins.findById("nobody")).isEmpty();
    }

    @Test
    default void settingsStayWhereTheyWere() {
        SettingService settings = application().getBean(SettingService.class);
        settings.set("greeting", "Welcome");

        assertThat(settings.get("greeting")).isEqualTo("Welcome");
        assertThat(settings.get("colour")).isEqualTo("red");
    }
}
