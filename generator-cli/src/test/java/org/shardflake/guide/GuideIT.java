/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.guide;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;

/** Runs every command of the guide, as {@link GuideReader} does; {@link IncidentsIT} runs the rest. */
@Timeout(value = 20, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GuideIT {

    private static final Path DOCS = Path.of("../src/docs").toAbsolutePath().normalize();

    private static final Path README = Path.of("../README.md").toAbsolutePath().normalize();

    private static final List<String> SERVERS = List.of("db1/app", "db2/app", "db3/app", "old/app");

    private static final String QUICK_START = "quick-start";

    private static final String ADOPTING = "adopting";

    private static final String EXISTING_APPLICATION = "existing-application";

    static final String INCIDENTS = "incidents";

    /** {@link IncidentsIT} runs its commands. */
    static final String SERVER_INCIDENTS = "server-incidents";

    /** One story, from an empty shard map on. */
    private static final List<String> CHAPTERS = List.of(
            "shard-map",
            "schema-changes",
            "moves",
            "move-checks",
            "releases",
            "rebalancing",
            "move-failures",
            "adopting-one-table",
            "ids",
            "id-forms",
            "schemes",
            "command-line");

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(4);

    @TempDir
    private Path directory;

    @SuppressWarnings("NullAway.Init") // by useTheTestDatabases
    private GuideReader reader;

    @BeforeEach
    void useTheTestDatabases() {
        reader = new GuideReader(directory, postgres.database(0).server().password());
        for (int server = 0; server < SERVERS.size(); server++) {
            name(server, postgres.database(server).uri());
        }
    }

    private void name(int server, String uri) {
        reader.name("postgresql://app@" + SERVERS.get(server), uri.replaceFirst(":[^:@/]*@", "@"));
    }

    @Test
    @Tag("full")
    void theReadme() throws Exception {
        useDatabases("readme");
        reader.follow(List.of(GuidePage.read(README)));
    }

    /** Databases of their own on the same servers, so that a page can be run beside the chapters. */
    private void useDatabases(String database) throws SQLException {
        for (int server = 0; server < SERVERS.size(); server++) {
            try (Connection connection = postgres.database(server).connect();
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE DATABASE " + database);
            }
            name(server, postgres.database(server).uri().replaceFirst("/[^/]*$", "/" + database));
        }
    }

    @Test
    @Tag("full")
    void anExistingDatabase() throws Exception {
        useDatabases("app");
        reader.follow(List.of(page(ADOPTING)));
    }

    /** The page's SQL is that of files: the old tables, what step 1 adds to them, and the changelogs of step 2. */
    @Test
    @Tag("full")
    void anExistingApplication() throws Exception {
        useDatabases("clinic");
        GuidePage page = page(EXISTING_APPLICATION);
        List<String> sql = page.blocks("sql");
        String rows = """
                INSERT INTO types VALUES (1, 'cat'), (2, 'dog');
                INSERT INTO owners (last_name) SELECT 'owner ' || n FROM generate_series(1, 200) n;
                INSERT INTO pets (name, type_id, owner_id) SELECT 'pet ' || n, 1 + n % 2, 1 + n % 200 FROM generate_series(1, 300) n;
                INSERT INTO visits (pet_id, visit_date) SELECT 1 + n % 300, '2026-01-01' FROM generate_series(1, 500) n;
                INSERT INTO users VALUES ('admin', 'admin');
                """;
        try (Connection old =
                        postgres.database(SERVERS.indexOf("old/app")).server().connect("clinic");
                Statement statement = old.createStatement()) {
            statement.execute(sql.get(0) + rows + sql.get(1) + sql.get(2));
        }
        Path changelogs = Files.createDirectories(directory.resolve("work").resolve("db"));
        Files.writeString(changelogs.resolve("reference.sql"), sql.get(3));
        Files.writeString(changelogs.resolve("shards.sql"), sql.get(4));
        reader.follow(List.of(page));
    }

    @Test
    @Tag("full")
    void theQuickStart() throws Exception {
        reader.follow(List.of(page("quick-start")));
    }

    /** One story, from an empty map to moved shards. */
    @Test
    @Tag("full")
    void theChapters() throws Exception {
        List<GuidePage> pages = new ArrayList<>();
        for (String chapter : CHAPTERS) {
            pages.add(page(chapter));
        }
        reader.follow(pages);
    }

    @Test
    @Tag("full")
    void theIncidents() throws Exception {
        useDatabases(INCIDENTS);
        reader.follow(List.of(page(INCIDENTS)));
    }

    @Test
    void everyPageWithCommandsIsRun() throws IOException {
        try (var files = Files.walk(DOCS)) {
            for (Path file :
                    files.filter(path -> path.toString().endsWith(".md")).toList()) {
                GuidePage page = GuidePage.read(file);
                assertThat(page.steps())
                        .as("commands of %s, which no test runs", file)
                        .matches(steps -> steps.isEmpty() || isRun(file));
                page.notRun().forEach(command -> System.out.println("not run: " + command));
                long shown = Files.readAllLines(file).stream()
                        .filter(line -> line.matches(" *\\$ .*"))
                        .count();
                long known =
                        page.steps().stream().filter(step -> !step.hidden()).count()
                                + page.notRun().size();
                assertThat(known).as("commands found in %s", file).isEqualTo(shown);
            }
        }
    }

    private static boolean isRun(Path file) {
        return Stream.concat(
                        Stream.of(QUICK_START, ADOPTING, EXISTING_APPLICATION, INCIDENTS, SERVER_INCIDENTS),
                        CHAPTERS.stream())
                .anyMatch(name -> file.equals(DOCS.resolve("guide/" + name + ".md")));
    }

    static GuidePage page(String name) throws IOException {
        return GuidePage.read(DOCS.resolve("guide/" + name + ".md"));
    }
}
