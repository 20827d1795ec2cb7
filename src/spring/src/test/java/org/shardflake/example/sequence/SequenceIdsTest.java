/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.sequence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import jakarta.persistence.ElementCollection;
import jakarta.persistence.Embeddable;
import jakarta.persistence.Embedded;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Lob;
import jakarta.persistence.SequenceGenerator;
import jakarta.persistence.Table;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.spring.PhotoInstallation;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;

/** Entities whose ids come from a sequence as they are. */
class SequenceIdsTest {

    private static final String TABLES = """
            --liquibase formatted sql
            --changeset app:photo
            CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL);
            CREATE SEQUENCE ticket_number;
            CREATE TABLE ticket (number bigint PRIMARY KEY, uid bigint NOT NULL);
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private static PhotoInstallation installation;

    /** Draws the numbers of an id sequence, which are no ids. */
    @SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
    @Entity
    @Table(name = "photo")
    static class Photo {

        @Id
        @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "photos")
        @SequenceGenerator(name = "photos", sequenceName = "photo_id_seq", allocationSize = 1)
        private Long id;

        private long uid;
    }

    /** Draws from a sequence of the application's own, for something that is no id of Shardflake. */
    @SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
    @Entity
    @Table(name = "ticket")
    static class Ticket {

        @Id
        @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "tickets")
        @SequenceGenerator(name = "tickets", sequenceName = "ticket_number", allocationSize = 1)
        private Long number;

        private long uid;
    }

    @SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
    @Entity
    @Table(name = "note")
    static class Note {

        @Id
        private Long id;

        private String plain;

        @Lob
        private String body;

        @Embedded
        private Attachment attachment;

        @ElementCollection
        private List<Attachment> more;
    }

    @SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
    @Embeddable
    static class Attachment {

        private String name;

        @Lob
        private byte[] content;
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {

        @Bean
        PersistenceManagedTypes entities(@Value("${test.entity}") String entity) {
            return PersistenceManagedTypes.of(entity);
        }
    }

    @BeforeAll
    static void create(@TempDir Path directory) throws Exception {
        installation = PhotoInstallation.create(postgres, directory, TABLES);
    }

    private static ConfigurableApplicationContext start(Class<?> entity) {
        return SpringApplication.run(
                Application.class,
                installation.argumentsForJpa(
                        "--test.entity=" + entity.getName(), "--spring.main.web-application-type=none"));
    }

    @Test
    void thoseOfAnIdSequenceAreRefusedAtTheStart() {
        assertThatThrownBy(() -> start(Photo.class).close())
                .hasStackTraceContaining("SequenceIdsTest$Photo takes ids from photo_id_seq as they are");
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void entitiesWithLargeObjectsAreNamedAtTheStart(CapturedOutput output) {
        start(Note.class).close();

        assertThat(output.getAll())
                .contains(
                        "SequenceIdsTest$Note keeps body as a large object, which stays behind when its shard moves",
                        "SequenceIdsTest$Note keeps content as a large object",
                        "SequenceIdsTest$Note.more keeps content as a large object")
                .doesNotContain("keeps plain", "keeps name");
    }

    @Test
    @Tag("full")
    void thoseOfAnotherSequenceAreNot() {
        try (ConfigurableApplicationContext application = start(Ticket.class)) {
            assertThat(application.getBean(EntityManagerFactory.class).isOpen()).isTrue();
        }
    }
}
