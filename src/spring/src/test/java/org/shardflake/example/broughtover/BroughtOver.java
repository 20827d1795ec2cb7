/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardKey;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.server.ServerUrl;
import org.shardflake.spring.PhotoInstallation;
import org.shardflake.spring.ShardPages;
import org.shardflake.spring.ShardTemplate;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.dao.DataAccessException;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Pageable;
import org.springframework.data.domain.Sort;

/**
 * The guide's page that brings an application with one database over to shards. The tests of the application run on the one
 * database, and on the shards after they have adopted rows that it wrote.
 */
abstract class BroughtOver {

    static final Path PAGE = Path.of("../docs/guide/existing-application.md");

    private static final String ROWS = """
            INSERT INTO types VALUES (1, 'cat'), (2, 'dog');
            INSERT INTO vets VALUES (1, 'Carter'), (2, 'Douglas');
            INSERT INTO specialties VALUES (1, 'surgery'), (2, 'dentistry');
            INSERT INTO vet_specialties VALUES (2, 1), (2, 2);
            INSERT INTO owners (first_name, last_name, city) VALUES ('George', 'Franklin', 'Madison'), ('Betty', 'Davis', 'Sun Prairie');
            INSERT INTO pets (name, birth_date, type_id, owner_id) VALUES ('Leo', '2010-09-07', 1, 1), ('Basil', '2012-08-06', 2, 2);
            INSERT INTO visits (pet_id, visit_date, description) VALUES (1, '2013-01-01', 'rabies shot');
            INSERT INTO users VALUES ('admin', 'admin');
            INSERT INTO settings VALUES ('colour', 'red');
            """;

    private static final List<String> ADOPTED = List.of("owners", "pets", "visits", "users");

    /** Two of the shards, and one with the old databases: 2 of an application that stays there, and 3 of one that moves. */
    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(4);

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import({ClinicService.class, VisitImport.class, OldTables.class, SettingService.class})
    static class Application {}

    /** Checks the requests, where there is Spring MVC. */
    abstract void checkRequests(ClinicService clinic) throws Exception;

    @Nested
    @Tag("full")
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    class OnOneDatabase implements ClinicContract {

        private ConfigurableApplicationContext application;

        @BeforeAll
        void start() throws Exception {
            createOld(2);
            application = BroughtOver.start(2, "--shardflake.enabled=false");
        }

        @AfterAll
        void stop() {
            application.close();
        }

        @Override
        public ApplicationContext application() {
            return application;
        }

        @Test
        void theRequestsWork() throws Exception {
            checkRequests(clinic());
        }
    }

    @Nested
    @Tag("full")
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    class OnShards implements ClinicContract {

        private PhotoInstallation installation;
        private ConfigurableApplicationContext application;
        private long owner;

        @BeforeAll
        void bringOver(@TempDir Path directory) throws Exception {
            createOld(3);
            installation = PhotoInstallation.create(
                    postgres, directory, blocks("sql").get(4), blocks("sql").get(3));
            try (ConfigurableApplicationContext old = BroughtOver.start(3, "--shardflake.enabled=false")) {
                adopt(DatabaseAdopter::run);
                ClinicService clinic = old.getBean(ClinicService.class);
                owner = Objects.requireNonNull(
                        clinic.register(new Owner("Eva", "Last", "Bonn")).getId());
                clinic.addPet(owner, "Max", LocalDate.EPOCH, 1);
                adopt(DatabaseAdopter::finish);
                assertThatThrownBy(() -> clinic.register(new Owner("Too", "Late", "Ulm")))
                        .isInstanceOf(DataAccessException.class);
            }
            application = BroughtOver.start(3, "--shardflake.catalog=" + installation.catalogUrl());
        }

        @AfterAll
        void stop() {
            application.close();
        }

        @Override
        public ApplicationContext application() {
            return application;
        }

        @Test
        void theRequestsWork() throws Exception {
            checkRequests(clinic());
        }

        @Test
        void rowsWrittenBeforeTheSwitchAreThere() {
            assertThat(found(owner).getPets()).extracting(Pet::getName).containsExactly("Max");
        }

        @Test
        void pagesWithoutAnOrderOrInAnotherAreRefused() {
            ShardTemplate shards = application.getBean(ShardTemplate.class);
            Owners owners = application.getBean(Owners.class);
            for (int i = 0; i < 20; i++) {
                owner("Refused");
            }
            Pageable byId = PageRequest.of(0, 50, Sort.by("id"));
            Pageable backwards = PageRequest.of(0, 50, Sort.by("id").descending());

            assertThatThrownBy(() -> clinic().findByLastName("Refused", PageRequest.of(0, 50)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("Sort.by(\"lastName\", \"id\")");
            assertThatThrownBy(() -> ShardPages.find(shards, byId, ignored -> owners.findAll(backwards)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("COLLATE \"C\"");
            assertThat(ShardPages.find(shards, backwards, owners::findAll).getContent())
                    .isSortedAccordingTo(
                            Comparator.comparing(ClinicContract::id).reversed());
        }

        @Test
        void somethingNewInATransactionStaysInItsShard() {
            ShardTemplate shards = application.getBean(ShardTemplate.class);
            long id = Objects.requireNonNull(owner("WithVets").getId());

            for (int i = 0; i < 5; i++) {
                assertThat(shards.read(ShardKey.uid(id), () -> clinic().vets())).isNotEmpty();
            }
        }

        @Test
        void vetsAreRefusedElsewhereThanOnTheirHome() {
            ShardTemplate shards = application.getBean(ShardTemplate.class);
            Vets vets = application.getBean(Vets.class);

            assertThat(shards.homeShard()).isEqualTo(ShardKey.shard(0));
            assertThatThrownBy(() -> shards.run(ShardKey.shard(1), () -> vets.save(new Vet(8, "Elsewhere"))))
                    .hasStackTraceContaining("reference table reference.vets is written on server db1");
            assertThatThrownBy(() -> shards.run(shards.homeShard(), () -> vets.deleteById(1L)))
                    .hasStackTraceContaining("DELETE of reference table reference.vets is refused");
        }

        @Test
        void newOwnersAreSpreadOverShardsThatTheirIdsLeadTo() throws SQLException {
            for (int i = 0; i < 10; i++) {
                long id = Objects.requireNonNull(owner("Spread").getId());
                int shard = (int) (id % PhotoInstallation.SHARDS);
                assertThat(installation.number(
                                shard % 2, "SELECT count(*) FROM shard_%04d.owners WHERE id = %s".formatted(shard, id)))
                        .isEqualTo(1);
            }
        }
    }

    private static void createOld(int server) throws Exception {
        List<String> changes = blocks("sql");
        for (String sql : List.of(changes.get(0), ROWS, changes.get(1), changes.get(2))) {
            try (Connection connection = postgres.database(server).connect();
                    Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        }
    }

    private static ConfigurableApplicationContext start(int server, String... more) {
        TestDatabase old = postgres.database(server);
        List<String> arguments = new ArrayList<>(List.of(
                "--spring.main.banner-mode=off",
                "--spring.main.web-application-type=none",
                "--spring.jpa.open-in-view=false",
                "--spring.liquibase.enabled=false"));
        Map.of(
                        "url",
                        old.jdbcUrl(),
                        "username",
                        old.server().user(),
                        "password",
                        old.server().password())
                .forEach((name, value) -> {
                    arguments.add("--spring.datasource.%s=%s".formatted(name, value));
                    arguments.add("--old.%s=%s".formatted(name, value));
                });
        arguments.addAll(Arrays.asList(more));
        return SpringApplication.run(Application.class, arguments.toArray(String[]::new));
    }

    private interface AdoptStep {
        void run(DatabaseAdopter adopter);
    }

    private static void adopt(AdoptStep step) {
        ServerUrl catalog = ServerUrl.parse(postgres.database(0).uri());
        try (DatabaseAdopter adopter = DatabaseAdopter.open(
                DatabaseSettings.of(ADOPTED.stream()
                        .map(table -> AdoptTable.of("public." + table, null, null))
                        .toArray(AdoptTable[]::new)),
                ServerUrl.parse(postgres.database(3).uri()),
                catalog,
                ShardCatalog.at(catalog).load(),
                server -> ServerUrl.parse(server.url()),
                AdoptListener.NONE)) {
            step.run(adopter);
        }
    }

    @Test
    void everyLineOfJavaOnThePageIsHere() throws IOException {
        StringBuilder here = new StringBuilder();
        for (String type : List.of(
                "Owner", "Pet", "Vet", "Logins", "ClinicService", "VisitImport", "OldTables", "SettingService")) {
            here.append(Files.readString(
                    Path.of("../spring/src/test/java/org/shardflake/example/broughtover/" + type + ".java")));
        }
        List<String> blocks = blocks("java");

        assertThat(blocks).hasSize(13);
        blocks.forEach(
                block -> assertThat(here.toString().replaceAll("\\s+", "")).contains(block.replaceAll("\\s+", "")));
    }

    private static List<String> blocks(String language) throws IOException {
        return Pattern.compile("```%s\n(.*?)```".formatted(language), Pattern.DOTALL)
                .matcher(Files.readString(PAGE))
                .results()
                .map((MatchResult block) -> block.group(1))
                .toList();
    }
}
