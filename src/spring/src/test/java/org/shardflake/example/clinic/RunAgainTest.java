/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.clinic;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.persistence.EntityManager;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardKey;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.ShardRouter;
import org.shardflake.spring.PhotoInstallation;
import org.shardflake.spring.ShardTemplate;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.simple.JdbcClient;

/** A method is run again with the entities of its caller, which its first run has saved. Uid 2 is in shard 2, on the first server. */
class RunAgainTest {

    static final String TABLES = """
            --liquibase formatted sql
            --changeset app:clinic
            CREATE TABLE photo (id bigint PRIMARY KEY);
            CREATE TABLE owner (id bigint PRIMARY KEY, uid bigint NOT NULL, name varchar(255), version int NOT NULL);
            CREATE TABLE owner_phones (owner_id bigint NOT NULL REFERENCES owner, phones varchar(255), PRIMARY KEY (owner_id, phones));
            CREATE TABLE pet (id bigint PRIMARY KEY, owner_id bigint REFERENCES owner, name varchar(255));
            CREATE TABLE card (number varchar(255) PRIMARY KEY, version bigint NOT NULL);
            CREATE TABLE journal (id bigint PRIMARY KEY, uid bigint NOT NULL, what text NOT NULL);
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private static PhotoInstallation installation;
    private static ConfigurableApplicationContext application;
    private static Clinic clinic;
    private static Clinic.Letters letters;

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import({Clinic.class, Clinic.Journal.class, Clinic.Letters.class})
    static class Application {}

    @BeforeAll
    static void start(@TempDir Path directory) throws Exception {
        installation = PhotoInstallation.create(postgres, directory, TABLES);
        application = SpringApplication.run(
                Application.class,
                installation.argumentsForJpa(
                        "--spring.main.web-application-type=none",
                        "--shardflake.retry.max-tries=5",
                        "--shardflake.pool.size=4"));
        clinic = application.getBean(Clinic.class);
        letters = application.getBean(Clinic.Letters.class);
    }

    @AfterAll
    static void stop() {
        application.close();
    }

    @BeforeEach
    void empty() throws SQLException {
        installation.inShard(
                2,
                "SET search_path = ${shard.schema}; DELETE FROM pet; DELETE FROM owner_phones; DELETE FROM owner; DELETE FROM card; DELETE FROM journal");
        letters.sent.clear();
    }

    private static long rows(String table) throws SQLException {
        return installation.number(0, "SELECT count(*) FROM shard_0002." + table);
    }

    /** Loses the connection at the end of the first two runs. */
    private static Runnable failing(AtomicInteger runs) {
        return () -> {
            if (runs.incrementAndGet() <= 2) {
                application
                        .getBean(JdbcClient.class)
                        .sql("SELECT pg_terminate_backend(pg_backend_pid())")
                        .query()
                        .listOfRows();
            }
        };
    }

    private final AtomicInteger runs = new AtomicInteger();
    private final Runnable last = failing(runs);

    @Test
    void anEntityOfTheCallerIsNewAgain() throws SQLException {
        Owner owner = new Owner(2, "Betty");

        assertThat(clinic.register(owner, last)).isSameAs(owner);

        assertThat(runs).hasValue(3);
        assertThat(installation.number(0, "SELECT id FROM shard_0002.owner")).isEqualTo(owner.id());
        assertThat(owner.version()).isZero();
    }

    @Test
    void cascadesAreNewAgainToo() throws SQLException {
        Pet leo = new Pet("Leo");
        Owner owner = new Owner(2, "Betty").with(leo).with(new Pet("Basil")).reachedAt("6085551023");

        assertThat(clinic.register(owner, last)).isSameAs(owner);

        assertThat(rows("owner")).isEqualTo(1);
        assertThat(rows("owner_phones")).isEqualTo(1);
        assertThat(rows("pet WHERE owner_id = " + owner.id())).isEqualTo(2);
        assertThat(owner.pets()).extracting(Pet::name).containsExactly("Leo", "Basil");
        assertThat(rows("pet WHERE name = 'Leo' AND id = " + leo.id())).isEqualTo(1);
    }

    @Test
    void eventsArePublishedByEachRun() throws SQLException {
        clinic.register(new Owner(2, "Betty"), last);

        assertThat(letters.sent).containsExactly("Betty");
        assertThat(rows("journal")).isEqualTo(1);
    }

    @Test
    void saveAllSavesAllAgain() throws SQLException {
        List<Owner> all = List.of(new Owner(2, "Betty"), new Owner(2, "George").with(new Pet("Leo")));

        clinic.registerAll(2, all, last);

        assertThat(rows("owner")).isEqualTo(2);
        assertThat(rows("pet")).isEqualTo(1);
        assertThat(letters.sent).containsExactlyInAnyOrder("Betty", "George");
    }

    @Test
    void anIdThatTheInsertMadeIsTakenBack() throws SQLException {
        Pet pet = new Pet("Leo");

        assertThat(clinic.add(2, pet, last)).isSameAs(pet);

        assertThat(installation.number(0, "SELECT id FROM shard_0002.pet")).isEqualTo(pet.id());
    }

    @Test
    void anEntityWithAChosenIdIsNewAgain() throws SQLException {
        Card card = new Card("1234");

        assertThat(clinic.issue(2, card, last)).isSameAs(card);

        assertThat(rows("card")).isEqualTo(1);
        assertThat(card.version()).isZero();
    }

    @Test
    void aRepositoryHasShardsOfItsOwn() {
        Cards cards = application.getBean(Cards.class);
        cards.save(new Card("1234"));

        assertThat(cards.countOf(2)).isEqualTo(1);
        assertThat(cards.countOf(3)).isZero();
    }

    @Test
    void aNewChildOfADetachedParentIsSavedAgain() throws SQLException {
        Owner owner = clinic.register(new Owner(2, "Betty"), () -> {});
        owner = new ShardTemplateOf(application).detached(owner.id());
        Pet leo = new Pet("Leo");

        Owner saved = clinic.register(owner.with(leo), last);

        assertThat(rows("pet")).isEqualTo(1);
        assertThat(saved.pets()).hasSize(1);
        assertThat(leo.id()).isNull();
    }

    /** Loads as a request before did. */
    private record ShardTemplateOf(ConfigurableApplicationContext application) {

        Owner detached(Long id) {
            return application.getBean(ShardTemplate.class).read(ShardKey.uid(2), () -> {
                Owner owner = application.getBean(Owners.class).findById(id).orElseThrow();
                assertThat(owner.pets()).isEmpty();
                return owner;
            });
        }
    }

    @Test
    void theTemplateAndTheRouterTakeBackToo() throws SQLException {
        Owner one = new Owner(2, "Betty").with(new Pet("Leo"));
        application.getBean(ShardTemplate.class).run(ShardKey.uid(2), () -> clinic.register(one, last));
        Owner two = new Owner(2, "George").with(new Pet("Basil"));
        Runnable lastOfTwo = failing(new AtomicInteger());
        application.getBean(ShardRouter.class).run(2, tx -> clinic.register(two, lastOfTwo));

        assertThat(rows("owner")).isEqualTo(2);
        assertThat(rows("pet")).isEqualTo(2);
    }

    @Test
    void aFormAndAnUpdateAreRunAgain() throws SQLException {
        clinic.register(new Clinic.OwnerForm(2, "Betty", List.of("Leo", "Basil")), last);
        assertThat(clinic.rename(2, "Elizabeth", failing(new AtomicInteger()))).isEqualTo(1);

        assertThat(rows("pet")).isEqualTo(2);
        assertThat(rows("owner WHERE name = 'Elizabeth' AND version = 1")).isEqualTo(1);
        assertThat(rows("journal")).isEqualTo(2);
    }

    @Test
    void aDeploymentIsNotNoticedByStatementsPreparedBefore() throws SQLException {
        Clinic.OwnerForm form = new Clinic.OwnerForm(2, "Betty", List.of());
        clinic.register(form, () -> {});
        for (int i = 0; i < 6; i++) {
            for (int prepared = 0; prepared < 6; prepared++) {
                assertThat(columns()).isBetween(4, 5);
            }
            installation.inShard(
                    2,
                    "ALTER TABLE ${shard.schema}.owner "
                            + List.of("ADD COLUMN city text", "ALTER COLUMN city TYPE varchar", "DROP COLUMN city")
                                    .get(i % 3));
            assertThat(columns()).isEqualTo(List.of(5, 5, 4).get(i % 3));
        }
    }

    /** By Hibernate and by JDBC, in one transaction. */
    private static int columns() {
        return application.getBean(ShardTemplate.class).write(ShardKey.uid(2), () -> {
            Object[] row = (Object[]) application
                    .getBean(EntityManager.class)
                    .createNativeQuery("SELECT * FROM owner")
                    .getSingleResult();
            assertThat(application
                            .getBean(JdbcClient.class)
                            .sql("SELECT * FROM owner")
                            .query()
                            .singleRow())
                    .hasSize(row.length);
            return row.length;
        });
    }
}
