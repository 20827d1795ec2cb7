/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.messages;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.AdoptSettings;
import org.shardflake.adopt.Adopter;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.server.ServerUrl;
import org.shardflake.spring.PhotoInstallation;
import org.springframework.beans.factory.annotation.BeanFactoryAnnotationUtils;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;

/** The guide's page that brings an application with one database over to shards. */
class BroughtOverTest {

    private static final Path PAGE = Path.of("../docs/guide/existing-application.md");
    private static final Path HERE = Path.of("../spring/src/test/java/org/shardflake/example/messages");

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import({MessageService.class, OldTables.class})
    static class Application {}

    @Test
    @Tag("full")
    void theSameApplicationRunsOnOneDatabaseAndThenOnShards(@TempDir Path directory) throws Exception {
        PhotoInstallation installation =
                PhotoInstallation.create(postgres, directory, blocks("sql").get(1));
        execute(blocks("sql").get(0));
        execute(
                "CREATE TABLE setting (name text PRIMARY KEY, content text); INSERT INTO setting VALUES ('colour', 'red')");
        long first;
        try (ConfigurableApplicationContext application = start("--shardflake.enabled=false")) {
            MessageService messages = application.getBean(MessageService.class);
            first = messages.post(42, "first").id();
            messages.post(43, "another's");
            adopt(installation, Adopter::run);
            messages.edit(42, first, "edited");
            messages.post(42, "second");
            adopt(installation, Adopter::finish);
            assertThatThrownBy(() -> messages.post(42, "too late")).isInstanceOf(DataAccessException.class);
        }

        try (ConfigurableApplicationContext application = start("--shardflake.catalog=" + installation.catalogUrl())) {
            MessageService messages = application.getBean(MessageService.class);
            long third = messages.post(42, "third").id();
            messages.edit(42, first, "edited again");

            assertThat(messages.of(42)).extracting(Message::text).containsExactly("edited again", "second", "third");
            assertThat(messages.of(43)).extracting(Message::text).containsExactly("another's");
            assertThat(IdLayout.shard(third)).isEqualTo(42 % PhotoInstallation.SHARDS);
            JdbcClient old = BeanFactoryAnnotationUtils.qualifiedBeanOfType(
                    application.getBeanFactory(), JdbcClient.class, "old");
            assertThat(old.sql("SELECT content FROM setting")
                            .query(String.class)
                            .single())
                    .isEqualTo("red");
        }
    }

    private static ConfigurableApplicationContext start(String... more) {
        TestDatabase old = old();
        List<String> arguments = new ArrayList<>(List.of(
                "--spring.main.banner-mode=off",
                "--spring.main.web-application-type=none",
                "--spring.jpa.open-in-view=false",
                "--spring.liquibase.enabled=false",
                "--spring.jpa.hibernate.ddl-auto=validate"));
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

    private static TestDatabase old() {
        return postgres.database(2);
    }

    private static void adopt(PhotoInstallation installation, AdoptStep step) {
        ServerUrl catalog = ServerUrl.parse(installation.catalogUrl());
        try (Adopter adopter = Adopter.open(
                new AdoptSettings("public.message", null, "uid", AdoptSettings.DEFAULT_BATCH_ROWS),
                ServerUrl.parse(old().uri()),
                catalog,
                ShardCatalog.at(catalog).load(),
                server -> ServerUrl.parse(server.url()),
                AdoptListener.NONE)) {
            step.run(adopter);
        }
    }

    private interface AdoptStep {
        void run(Adopter adopter);
    }

    private static void execute(String sql) throws SQLException {
        try (Connection connection = old().connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void everyLineOfJavaOnThePageIsHere() throws IOException {
        String here = Files.readString(HERE.resolve("MessageService.java"))
                + Files.readString(HERE.resolve("Message.java"))
                + Files.readString(HERE.resolve("OldTables.java"));
        List<String> blocks = blocks("java");

        assertThat(blocks).hasSize(3);
        blocks.forEach(block -> assertThat(here.replaceAll("\\s+", "")).contains(block.replaceAll("\\s+", "")));
    }

    private static List<String> blocks(String language) throws IOException {
        return Pattern.compile("```%s\n(.*?)```".formatted(language), Pattern.DOTALL)
                .matcher(Files.readString(PAGE))
                .results()
                .map((MatchResult block) -> block.group(1))
                .toList();
    }
}
