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
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;

/**
 * Runs every command of the guide, and compares what it prints with what the guide says, but for times, sizes, ids and ports.
 * {@code -Dguide.update} writes what was printed into the pages instead.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GuideIT {

    private static final Path DOCS = Path.of("../src/docs").toAbsolutePath().normalize();

    private static final Path README = Path.of("../README.md").toAbsolutePath().normalize();

    private static final List<String> SERVERS = List.of("db1/app", "db2/app", "db3/app", "old/app");

    private static final String QUICK_START = "quick-start";

    private static final String INCIDENTS = "incidents";

    /** One story, from an empty shard map on. */
    private static final List<String> CHAPTERS =
            List.of("shard-map", "schema-changes", "moves", "adopting", "ids", "schemes", "command-line");

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(4);

    @TempDir
    private Path directory;

    /** What is different each time. */
    private static final Map<Pattern, String> VARYING = new LinkedHashMap<>();

    static {
        Psql.FORMAT.forEach(GuideIT::varying);
        varying("^([a-z ]+): [\\d,]+ of (about )?[\\d,]+.*$", ""); // progress comes or not
        varying("^copied [\\d,]+ of about [\\d,]+ rows$", "");
        varying("^shard \\d+: an attempt gave itself up, .*$", ""); // and another one did not
        varying(" and \\d+ attempts$", "");
        varying("\\bpostgres\\b", "app");
        varying("\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z", "TIME");
        varying("localhost:\\d+", "localhost:PORT");
        varying("\\b\\d{15,19}\\b", "ID");
        varying("[\\d.,]+ (B|kB|[KMG]iB)\\b", "BYTES");
        varying("[\\d.,]+ (ms|s|min|h|d)\\b", "DURATION");
        varying("[\\d.,]+ %", "PERCENT");
        varying("[\\d,]+ (rows/s written|inserted|read)\\b", "RATE $1");
        varying("(?<=^db\\d {1,9}\\d{1,4} {1,9})[\\d,]+ +[\\d,]+ +[\\d,]+ +(?=BYTES)", "RATES ");
        varying("\\s+", " ");
    }

    private static void varying(String pattern, String name) {
        VARYING.put(Pattern.compile(pattern), name);
    }

    /** Names of servers and logins that the pages use, and what they stand for here. */
    private final Map<String, String> names = new LinkedHashMap<>();

    @BeforeEach
    void useTheTestDatabases() {
        for (int server = 0; server < SERVERS.size(); server++) {
            name(server, postgres.database(server).uri());
        }
    }

    private void name(int server, String uri) {
        names.put("postgresql://app@" + SERVERS.get(server), uri.replaceFirst(":[^:@/]*@", "@"));
    }

    @Test
    @Tag("full")
    void theReadme() throws IOException, SQLException {
        useDatabases("readme");
        run(List.of(GuidePage.read(README)));
    }

    /** Beside the chapters, on the same servers. */
    private void useDatabases(String database) throws SQLException {
        for (int server = 0; server < 3; server++) {
            try (Connection connection = postgres.database(server).connect();
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE DATABASE " + database);
            }
            name(server, postgres.database(server).uri().replaceFirst("/[^/]*$", "/" + database));
        }
    }

    @Test
    @Tag("full")
    void theQuickStartAndAnExistingDatabase() throws IOException {
        run(List.of(page("quick-start")));
    }

    /** One story, from an empty map to moved shards. */
    @Test
    @Tag("full")
    void theChapters() throws IOException {
        List<GuidePage> pages = new ArrayList<>();
        for (String chapter : CHAPTERS) {
            pages.add(page(chapter));
        }
        run(pages);
    }

    @Test
    @Tag("full")
    void theIncidents() throws IOException, SQLException {
        useDatabases(INCIDENTS);
        run(List.of(page(INCIDENTS)));
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
        return Stream.concat(Stream.of(QUICK_START, INCIDENTS), CHAPTERS.stream())
                .anyMatch(name -> file.equals(DOCS.resolve("guide/" + name + ".md")));
    }

    private static GuidePage page(String name) throws IOException {
        return GuidePage.read(DOCS.resolve("guide/" + name + ".md"));
    }

    private void run(List<GuidePage> pages) throws IOException {
        Map<String, String> environment = new HashMap<>();
        environment.put("PGPASSWORD", postgres.database(0).server().password());
        List<String> differences = new ArrayList<>();
        try (GuideShell shell = new GuideShell(directory, environment)) {
            for (GuidePage page : pages) {
                run(page, shell, differences);
            }
        }
        assertThat(String.join("\n", differences)).isEmpty();
    }

    private void run(GuidePage page, GuideShell shell, List<String> differences) throws IOException {
        List<List<String>> outputs = new ArrayList<>();
        for (GuidePage.Step step : page.steps()) {
            List<String> output = run(step, shell, differences);
            boolean alike = step.hidden() || alike(step.output(), output);
            outputs.add(alike ? step.output() : output);
            if (!alike) {
                differences.add("%s:%d: $ %s%n--- the page says%n%s%n--- it printed%n%s%n"
                        .formatted(
                                page.file().getFileName(),
                                step.firstLine(),
                                step.command(),
                                String.join("\n", step.output()),
                                String.join("\n", output)));
            }
        }
        if (Boolean.getBoolean("guide.update")) {
            Files.write(page.file(), page.with(outputs));
        }
    }

    private List<String> run(GuidePage.Step step, GuideShell shell, List<String> differences) throws IOException {
        String command = step.command();
        if (command.startsWith("cat ") && !step.output().isEmpty()) {
            Path file = directory.resolve("work").resolve(command.substring("cat ".length()));
            if (!Files.exists(file)) { // Shown to be written by the reader.
                Files.createDirectories(file.getParent());
                Files.write(file, step.output());
                return step.output();
            }
        }
        for (Map.Entry<String, String> name : names.entrySet()) {
            command = command.replace(name.getKey(), name.getValue());
        }
        GuideShell.Result result = shell.run(command);
        if (step.hidden() && result.exitCode() != 0) {
            differences.add("%s: exit code %d%n%s".formatted(command, result.exitCode(), result.lines()));
        }
        List<String> output = new ArrayList<>();
        for (String line : result.lines()) {
            for (Map.Entry<String, String> name : names.entrySet()) {
                line = line.replace(name.getValue(), name.getKey());
            }
            output.add(line);
        }
        return output;
    }

    /** Where a page says {@code ...}, anything may be. */
    private static boolean alike(List<String> expected, List<String> printed) {
        StringBuilder pattern = new StringBuilder();
        for (String line : constant(expected)) {
            pattern.append(line.equals("...") ? "(?s:.*?)" : Pattern.quote(line) + "\n");
        }
        return Pattern.matches(
                pattern.toString(),
                String.join("\n", constant(printed)) + (constant(printed).isEmpty() ? "" : "\n"));
    }

    private static List<String> constant(List<String> lines) {
        List<String> constant = new ArrayList<>();
        for (String line : lines) {
            String text = line;
            for (Map.Entry<Pattern, String> part : VARYING.entrySet()) {
                text = part.getKey().matcher(text).replaceAll(part.getValue());
            }
            if (!text.isBlank()) {
                constant.add(text.strip());
            }
        }
        return constant;
    }
}
