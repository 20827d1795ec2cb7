/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.Id;
import jakarta.persistence.PersistenceContext;
import jakarta.persistence.Table;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.server.ServerUrl;
import org.shardflake.spring.OnShard;
import org.shardflake.spring.PhotoInstallation;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.transaction.annotation.Transactional;

/** An application with JPA and JDBC that runs while its shards leave the old database: the first of them is where Hibernate looks at its start. */
class OldDatabaseApplicationTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;

    private PhotoInstallation installation;

    @SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
    @Entity
    @Table(name = "photo")
    static class Photo {

        @Id
        private Long id;

        private String title;
    }

    static class Photos {

        private final JdbcClient jdbc;

        @PersistenceContext
        private EntityManager entities;

        Photos(JdbcClient jdbc) {
            this.jdbc = jdbc;
        }

        @OnShard("#uid")
        @Transactional
        public void renameByJpa(long uid, String title) {
            entities.find(Photo.class, uid).title = title;
        }

        @OnShard("#uid")
        @Transactional
        public void renameByJdbc(long uid, String title) {
            jdbc.sql("UPDATE photo SET title = ? WHERE id = ?")
                    .params(title, uid)
                    .update();
        }

        @OnShard(value = "#uid", retry = false)
        public void renameAlone(long uid, String title) {
            renameByJdbc(uid, title);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {

        @Bean
        PersistenceManagedTypes entities() {
            return PersistenceManagedTypes.of(Photo.class.getName());
        }

        @Bean
        Photos photos(JdbcClient jdbc) {
            return new Photos(jdbc);
        }
    }

    @Test
    void workFollowsTheShard(@TempDir Path directory) throws Exception {
        installation = PhotoInstallation.create(postgres, directory);
        try (Connection connection = postgres.database(OLD).connect();
                Statement statement = connection.createStatement()) {
            statement.execute("""
                    CREATE SCHEMA gallery;
                    CREATE TABLE gallery.photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text, version int NOT NULL DEFAULT 0, album_id bigint);
                    INSERT INTO gallery.photo (id, uid) SELECT n, n FROM generate_series(0, 7) n
                    """);
        }
        cutOver(ShardSet.of());
        try (ConfigurableApplicationContext application = start()) {
            rename(application.getBean(Photos.class), "before");
            cutOver(ShardSet.of(0, 3));
            rename(application.getBean(Photos.class), "after");
        }
        assertThat(titles("after"))
                .containsExactly("old 1", "old 2", "old 4", "old 5", "old 6", "old 7", "shard 0", "shard 3");
        assertThat(titles("before")).contains("old 0", "old 3").doesNotContain("shard 0", "shard 3");

        try (ConfigurableApplicationContext again = start()) {
            rename(again.getBean(Photos.class), "again");
        }
        assertThat(titles("again"))
                .containsExactly("old 1", "old 2", "old 4", "old 5", "old 6", "old 7", "shard 0", "shard 3");
    }

    private ConfigurableApplicationContext start() {
        return SpringApplication.run(
                Application.class,
                installation.argumentsForJpa(
                        "--spring.main.web-application-type=none",
                        "--spring.jpa.hibernate.ddl-auto=validate",
                        "--shardflake.old-database.url="
                                + postgres.database(OLD).uri(),
                        "--shardflake.old-database.schema=gallery"));
    }

    private static void rename(Photos photos, String title) {
        for (int uid = 0; uid < PhotoInstallation.SHARDS; uid++) {
            switch (uid % 3) {
                case 0 -> photos.renameByJpa(uid, title);
                case 1 -> photos.renameByJdbc(uid, title);
                default -> photos.renameAlone(uid, title);
            }
        }
    }

    private static void cutOver(ShardSet shards) {
        ServerUrl catalog = ServerUrl.parse(postgres.database(0).uri());
        AdoptTable photo = new AdoptTable("gallery.photo", "photo", "uid", List.of(), null, List.of());
        try (DatabaseAdopter adopter = DatabaseAdopter.open(
                new DatabaseSettings(List.of(photo), 1000, 1, 0),
                ServerUrl.parse(postgres.database(OLD).uri()),
                catalog,
                ShardCatalog.at(catalog).load(),
                server -> ServerUrl.parse(server.url()),
                AdoptListener.NONE)) {
            adopter.cutOver(shards);
        }
    }

    /** Where photos with this title are: "old 3" or "shard 3" for that of uid 3. */
    private List<String> titles(String title) throws SQLException {
        List<String> found = new ArrayList<>();
        String sql = "SELECT count(*) FROM %s.photo WHERE id = %s AND title = '%s'";
        for (int uid = 0; uid < PhotoInstallation.SHARDS; uid++) {
            if (installation.number(OLD, sql.formatted("gallery", uid, title)) > 0) {
                found.add("old " + uid);
            }
            if (installation.number(uid % 2, sql.formatted("shard_000" + uid, uid, title)) > 0) {
                found.add("shard " + uid);
            }
        }
        found.sort(null);
        return found;
    }
}
