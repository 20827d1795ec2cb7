/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.website;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The page of tested versions, compared with the configuration of the CI and with the POMs. */
class TestedVersionsTest {

    private static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();

    /** A value of the matrix: {@code java: [17, 21]}, or {@code java: 25} in one that is included. */
    private static final Pattern MATRIX =
            Pattern.compile("(?m)^ +(?:- )?(java|postgres|provider): (\\[.*]|[a-z0-9]+)$");

    @Test
    void thePageSaysWhichVersionsTheTestsRunWith() throws IOException {
        String page = read("src/docs/guide/tested-versions.md");

        assertThat(page).contains(javaAndPostgres());
        assertThat(page).contains(libraries());
    }

    private static String javaAndPostgres() throws IOException {
        Map<Integer, Set<String>> pushed = new TreeMap<>();
        List<String> containers = pushed(pushed);
        Map<Integer, String> nightly = new TreeMap<>();
        included(matrix("nightly.yml"))
                .forEach(one -> nightly.put(Integer.valueOf(one.get("java")), one.get("postgres")));

        TreeSet<Integer> all = new TreeSet<>(nightly.keySet());
        all.addAll(pushed.keySet());
        String rows = all.stream()
                .map(java -> "| %s |%s|%s|"
                        .formatted(
                                java,
                                pushed.containsKey(java) ? cell(String.join(", ", pushed.get(java))) : " ",
                                nightly.containsKey(java) ? cell(nightly.get(java)) : " "))
                .collect(Collectors.joining("\n"));
        assertThat(containers).hasSize(1);
        return rows + "\n\nEach push also runs the tests in containers of PostgreSQL " + containers.get(0) + ".";
    }

    /** Reads the matrix of each push: lists, and then the combinations that are included. */
    private static List<String> pushed(Map<Integer, Set<String>> pushed) throws IOException {
        String matrix = matrix("ci.yml");
        Map<String, List<String>> lists = values(matrix.replaceFirst("(?s)\\n +include:\\n.*", ""))
                .collect(Collectors.toMap(
                        value -> value.group(1), value -> list(value.group(2)).toList()));
        assertThat(lists).containsEntry("provider", List.of("embedded"));
        for (String java : lists.getOrDefault("java", List.of())) {
            pushed.put(Integer.valueOf(java), new TreeSet<>(lists.getOrDefault("postgres", List.of())));
        }
        TreeSet<String> containers = new TreeSet<>();
        for (Map<String, String> one : included(matrix)) {
            if ("embedded".equals(one.get("provider"))) {
                pushed.computeIfAbsent(Integer.valueOf(one.get("java")), java -> new TreeSet<>())
                        .add(one.get("postgres"));
            } else if ("testcontainers".equals(one.get("provider"))) {
                containers.add("%s with Java %s".formatted(one.get("postgres"), one.get("java")));
            }
        }
        return List.copyOf(containers);
    }

    private static String matrix(String workflow) throws IOException {
        return read(".github/workflows/" + workflow)
                .replaceFirst("(?s).*?\\n +matrix:(?=\\n)", "")
                .replaceFirst("(?s)\\n +(env|steps):.*", "");
    }

    /** The combinations of a matrix that are included one by one. */
    private static List<Map<String, String>> included(String matrix) {
        String[] parts = matrix.split("\\n +include:\\n", -1);
        assertThat(parts).hasSize(2);
        return Stream.of(parts[1].split("(?m)^ +- ", -1))
                .map(one ->
                        values("  " + one).collect(Collectors.toMap(value -> value.group(1), value -> value.group(2))))
                .filter(one -> !one.isEmpty())
                .toList();
    }

    private static String libraries() throws IOException {
        return Stream.of(
                        row(
                                "Spring Boot",
                                "spring-boot",
                                "pom.xml",
                                "`src/spring`, `src/spring-test`, `src/samples/photos`",
                                "push"),
                        other("Spring Boot", "spring-boot", "pom.xml", "`src/spring`, `src/spring-test`"),
                        row("Spring Boot", "spring-boot", "src/spring-boot3/pom.xml", "`src/spring-boot3`", "night"),
                        row("Hibernate", "hibernate", "src/spring/pom.xml", "`src/spring`", "push"),
                        other("Hibernate", "hibernate", "src/spring/pom.xml", "`src/spring`"),
                        row("Hibernate", "hibernate", "src/spring-boot3/pom.xml", "`src/spring-boot3`", "night"),
                        row("jOOQ", "jooq", "pom.xml", "`shard-router`", "push"),
                        newestJooq(),
                        row("Driver", "postgresql", "pom.xml", "all", "push"),
                        row("HikariCP", "hikari", "pom.xml", "all", "push"),
                        row("Liquibase", "liquibase", "pom.xml", "all", "push"))
                .collect(Collectors.joining("\n"));
    }

    /** The one that the CI takes each night where Java is newer than 17. */
    private static String newestJooq() throws IOException {
        String nightly = read(".github/workflows/nightly.yml");
        MatchResult version = Pattern.compile(
                        "- if: matrix\\.java != 17\\n +run: >-\\n[^#]*?-Djooq\\.version=((\\d+\\.\\d+)\\.\\d+) -pl (\\S+)")
                .matcher(nightly)
                .results()
                .findFirst()
                .orElseThrow();
        List<String> javas = values(nightly)
                .filter(value -> value.group(1).equals("java"))
                .flatMap(value -> list(value.group(2)))
                .filter(java -> !java.equals("17"))
                .toList();
        return "| jOOQ %s | %s | `%s`, with code from jOOQ 3.19, on Java %s | each night |"
                .formatted(version.group(2), version.group(1), version.group(3), String.join(" and ", javas));
    }

    private static String row(String library, String property, String pom, String module, String when)
            throws IOException {
        return row(library, property, read(pom), pom, module, when);
    }

    /** The row for a library whose version comes from the profile of the Spring Boot line that CI runs with each push. */
    private static String other(String library, String property, String pom, String module) throws IOException {
        String lines = read(".github/workflows/ci.yml").replaceFirst("(?s).*?\n +line: \\[(.*?)].*", "$1");
        assertThat(list(lines)).hasSize(1);
        String id = "spring-boot-" + lines.replace("\"", "");
        String profile = read(pom).replaceFirst("(?s).*<id>" + id + "</id>(.*?)</profile>.*", "$1");
        return row(library, property, profile, id + " of " + pom, module, "push");
    }

    private static String row(String library, String property, String text, String pom, String module, String when) {
        MatchResult version = Pattern.compile("<" + property + "\\.version>(\\d+\\.\\d+)(.*)</")
                .matcher(text)
                .results()
                .findFirst()
                .orElseThrow(() -> new AssertionError(pom + " has no " + property + ".version"));
        return "| %s %s | %s | %s | each %s |"
                .formatted(library, version.group(1), version.group(1) + version.group(2), module, when);
    }

    private static String cell(String versions) {
        return " PostgreSQL " + versions + " ";
    }

    private static Stream<MatchResult> values(String yaml) {
        return MATRIX.matcher(yaml).results();
    }

    private static Stream<String> list(String value) {
        return Stream.of(value.replaceAll("[\\[\\] ]", "").split(",", -1));
    }

    private static String read(String file) throws IOException {
        return Files.readString(ROOT.resolve(file));
    }
}
