/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;

/** The pages of reference are what the code says. {@code -Dguide.update} writes them. */
class ReferenceTest {

    private static final Path PAGES = Path.of("../src/docs/reference");

    private static final Pattern PUBLIC_TYPE = Pattern.compile(
            "/\\*\\*((?:(?!\\*/).)*)\\*/\\s*(?:@[^\\n]*\\n\\s*)*public (?:abstract |sealed |final |non-sealed )*(class|interface|record|enum|@interface) (\\w+)",
            Pattern.DOTALL);

    /** The name of a finding comes after its severity and its server. */
    private static final Pattern FINDING =
            Pattern.compile("Finding\\.of\\(\\s*[\\w.]+,\\s*(?:[^,\"]+|\"catalog\"),\\s*\"([a-z-]+)\"");

    private static final Pattern CHECK =
            Pattern.compile("\\b(?:add|none|setting|check\\w*)\\(\\s*\"([a-z]+(?:-[a-z]+)*)-?\"");

    private static void check(String page, String text) throws IOException {
        Path file = PAGES.resolve(page);
        if (Boolean.getBoolean("guide.update")) {
            Files.createDirectories(PAGES);
            Files.writeString(file, text);
        }
        assertThat(Files.readString(file))
                .as("%s is not what the code says; -Dguide.update writes it", page)
                .isEqualTo(text);
    }

    @Test
    void theCommandsAreThoseOfTheReference() throws IOException {
        CommandLine all = Shardflake.allCommands();
        all.setUsageHelpWidth(100);
        StringBuilder text = new StringBuilder("""
                # Commands

                What `--help` of each command says. Settings, output and exit codes in general: [the command line](../guide/command-line.md).
                """);
        append(all, text);
        check("commands.md", text.toString());
    }

    private static void append(CommandLine command, StringBuilder text) {
        if (command.getCommandSpec().usageMessage().hidden()) {
            return;
        }
        command.setUsageHelpWidth(100);
        String name = command.getCommandSpec().qualifiedName();
        text.append("\n## ").append(name).append("\n\n```text\n");
        text.append(command.getUsageMessage(Ansi.OFF).stripTrailing()).append("\n```\n");
        command.getSubcommands().values().forEach(below -> append(below, text));
    }

    @Test
    void theTypesAreThoseOfTheReference() throws IOException {
        StringBuilder text = new StringBuilder("""
                # Java

                The types that an application sees, with the first sentence of their documentation; the rest is in the Javadoc that comes with
                the artifacts. [Routing in Java](../guide/routing.md) shows how they are used.
                """);
        append(Path.of("../src/id/src/main/java"), "shardflake-id", text);
        append(Path.of("../shard-router/src/main/java"), "shardflake-router", text);
        append(Path.of("../sql/src/main/java"), "shardflake-sql", text);
        append(Path.of("../src/operations/src/main/java"), "shardflake-operations", text);
        append(Path.of("../src/schemes/src/main/java"), "shardflake-schemes", text);
        append(Path.of("../src/spring/src/main/java"), "shardflake-spring-boot-starter", text);
        append(Path.of("../src/spring-test/src/main/java"), "shardflake-spring-boot-test", text);
        check("java.md", text.toString());
    }

    @Test
    void theErrorsAreThoseOfTheReference() throws IOException {
        StringBuilder text = new StringBuilder("""
                # Errors

                Every message says what was wrong, and a hint or a finding says what to do next. This is the index of them.

                - Commands end with [exit codes](../guide/command-line.md#exit-codes) that say whether anything was changed.
                - Functions and fences in the database raise [SQLSTATEs](sql.md#error-codes): `SF001` to `SF013` are Shardflake's.
                - [Failures of moves](../guide/move-failures.md) and [incidents](../guide/incidents.md) have messages with their causes and what to do.
                """);
        text.append("""

                ## Findings of doctor

                Each says in its last line what to do, often as a command. [doctor and reconcile](../guide/move-failures.md#doctor-and-reconcile) are described with moves. A setting that a move would need is named as its check below.

                | Finding | Means | `doctor --fix` |
                | --- | --- | --- |
                """);
        explained(text, "doctor", FINDING, "move-failures.md");
        text.append("""

                ## Checks of a move

                A move whose check fails does not start, and the message says what to change. [The checks](../guide/move-checks.md#the-checks) of one kind are described together.

                | Check | Means |
                | --- | --- |
                """);
        explained(text, "preflight", CHECK, "move-checks.md");
        text.append(
                "\n## Exceptions in Java\n\nAll are a `ShardflakeException`, whose `kind()` says whether anything was"
                        + " changed, and whose `hint()` says what to do.\n\n| Exception | Package | Meaning |\n| --- | --- | --- |\n");
        for (String module : List.of("src/id", "shard-router", "sql", "src/operations", "src/spring")) {
            appendExceptions(Path.of("..").resolve(module).resolve("src/main/java"), text);
        }
        check("errors.md", text.toString());
    }

    /** A row for each finding or check of the code, with what its page says of it. */
    private static void explained(StringBuilder text, String engine, Pattern names, String page) throws IOException {
        TreeSet<String> found = new TreeSet<>();
        try (Stream<Path> files = Files.list(
                Path.of("../src/operations/src/main/java/org/shardflake").resolve(engine))) {
            for (Path file : files.toList()) {
                names.matcher(Files.readString(file)).results().forEach(name -> found.add(name.group(1)));
            }
        }
        assertThat(found).hasSizeGreaterThan(30);
        List<String> rows = Files.readAllLines(Path.of("../src/docs/guide").resolve(page)).stream()
                .filter(line -> line.startsWith("| `"))
                .toList();
        for (String name : found) {
            String row = rows.stream()
                    .filter(line -> line.substring(0, line.indexOf(" | ")).contains("`" + name + "`"))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("%s has no row for %s".formatted(page, name)));
            text.append("| `")
                    .append(name)
                    .append("`")
                    .append(linked(row.substring(row.indexOf(" | ")), page))
                    .append("\n");
        }
    }

    /** A text of a page of the guide, with its links as the reference has them. */
    private static String linked(String text, String page) {
        return text.replaceAll("\\]\\((?=[a-z-]+\\.md)", "](../guide/").replace("](#", "](../guide/" + page + "#");
    }

    private static void appendExceptions(Path sources, StringBuilder text) throws IOException {
        try (Stream<Path> files = Files.walk(sources)) {
            for (Path file : files.filter(path -> path.toString().endsWith("Exception.java"))
                    .sorted()
                    .toList()) {
                Matcher type = PUBLIC_TYPE.matcher(Files.readString(file));
                if (!file.toString().contains("/internal/") && type.find()) {
                    text.append("| `%s` | `%s` | %s |\n"
                            .formatted(
                                    type.group(3),
                                    sources.relativize(file.getParent())
                                            .toString()
                                            .replace('/', '.'),
                                    firstSentence(type.group(1))));
                }
            }
        }
    }

    private static void append(Path sources, String artifact, StringBuilder text) throws IOException {
        TreeMap<String, List<String>> packages = new TreeMap<>();
        try (Stream<Path> files = Files.walk(sources)) {
            for (Path file : files.filter(path -> path.toString().endsWith(".java"))
                    .sorted()
                    .toList()) {
                Matcher type = PUBLIC_TYPE.matcher(Files.readString(file));
                String name = sources.relativize(file.getParent()).toString().replace('/', '.');
                boolean isInternal = List.of(name.split("\\.")).contains("internal");
                if (!isInternal && type.find() && file.endsWith(type.group(3) + ".java")) {
                    packages.computeIfAbsent(name, unused -> new ArrayList<>())
                            .add("| `%s` | %s | %s |"
                                    .formatted(type.group(3), type.group(2), firstSentence(type.group(1))));
                }
            }
        }
        packages.forEach((name, types) -> text.append("\n## ")
                .append(name)
                .append("\n\nIn `")
                .append(artifact)
                .append("`.\n\n| Type | | |\n| --- | --- | --- |\n")
                .append(String.join("\n", types))
                .append('\n'));
    }

    private static String firstSentence(String javadoc) {
        String text = javadoc.replaceAll("(?m)^\\s*\\* ?", " ")
                .replaceAll("\\{@(?:code|link|linkplain|literal) ([^}]*)}", "`$1`")
                .replaceAll("\\s+", " ")
                .strip()
                .replaceAll("<p>.*|<ul>.*|<pre>.*| @\\w.*", "");
        Matcher end = Pattern.compile("^(.*?\\.)(?:\\s|$)").matcher(text);
        return (end.find() ? end.group(1) : text).strip().replace("|", "\\|");
    }
}
