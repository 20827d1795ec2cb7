/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.util.stream.Collectors.counting;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** Rules for the code of all modules that the compiler does not know, and that classes no longer show. */
class SourcesTest {

    private static final Pattern FINALLY = Pattern.compile("\\} finally \\{");

    private static final Pattern NUMBER = Pattern.compile("(?<!%)(?:%%)*%(\\d+\\$)?[-#+ 0,(]*\\d*(\\.\\d+)?[dfegEG]");

    /** Calls on connections, and those of ours that make them. */
    private static final Pattern MAY_FAIL = Pattern.compile(
            "\\.(rollback|commit|setAutoCommit|execute|executeUpdate|executeQuery|cancelCopy|abort)\\(|Sql\\.(execute|call|update|list|number|text|isTrue)\\(");

    /** Their rollback keeps its failure to itself. */
    private static final List<String> HARMLESS =
            List.of("ReferenceSession.java", "RowDeletion.java", "SchemaDeployment.java", "HomeMove.java");

    private static final Pattern CATCH = Pattern.compile("\\bcatch \\([^)]* (\\w+)\\) \\{");

    /** Files whose rollback keeps its failure to itself, or that note the failure and throw none. */
    private static final List<String> NOTED =
            List.of("ReferenceSession.java", "RowDeletion.java", "HomeMove.java", "StatementSource.java");

    /** A quote that is doubled, and a role's name that is quoted already. */
    private static final Pattern QUOTING =
            Pattern.compile("replace\\(\"(\\\\\"|')\", \"(\\\\\"\\\\\"|'')\"\\)|regrole::(pg_catalog\\.)?name");

    /** Of CSV, and of postgresql.conf. */
    private static final List<String> OTHER_QUOTING = List.of("SqlText.java", "RowsWriter.java", "EmbeddedServer.java");

    private static final Pattern ENGINES =
            Pattern.compile("/(src/id|src/operations|src/spring|shard-router|sql)/src/main");

    private static final Pattern LITERAL = Pattern.compile("\"(\\\\.|[^\"\\\\\\n])*\"");

    private static final long FILES_OF_A_PACKAGE = 50;

    private static final Map<Path, String> SOURCES = new TreeMap<>();

    @BeforeAll
    static void read() throws IOException {
        Path root = Path.of("").toAbsolutePath().resolveSibling("");
        for (Path modules : List.of(root, root.resolve("src"))) {
            try (Stream<Path> all = Files.list(modules)) {
                for (Path module :
                        all.filter(path -> !path.endsWith("benchmarks")).toList()) {
                    read(module.resolve("src/main/java"));
                }
            }
        }
        assertThat(SOURCES).hasSizeGreaterThan(700);
    }

    private static void read(Path sources) throws IOException {
        if (Files.isDirectory(sources)) {
            try (Stream<Path> files = Files.walk(sources)) {
                for (Path file :
                        files.filter(path -> path.toString().endsWith(".java")).toList()) {
                    SOURCES.put(file, Files.readString(file));
                }
            }
        }
    }

    /** What a {@code finally} throws hides the first failure. {@code Sql.Ending} in try-with-resources keeps both. */
    @Test
    void noFinallyHidesAFailureByOneOfItsOwn() {
        List<String> found = new ArrayList<>();
        SOURCES.forEach((file, source) -> {
            Matcher matcher = FINALLY.matcher(source);
            while (matcher.find()) {
                String block = source.substring(matcher.end(), end(source, matcher.end()));
                if (MAY_FAIL.matcher(block).find()
                        && !HARMLESS.contains(file.getFileName().toString())) {
                    found.add(file.getFileName() + ": " + block.strip());
                }
            }
        });

        assertThat(found).isEmpty();
    }

    /** A {@code catch} that undoes something can throw, too, and hide the first failure, unless it passes that on or has rethrown it. */
    @Test
    void noCatchHidesAFailureByOneOfItsOwn() {
        List<String> found = new ArrayList<>();
        SOURCES.forEach((file, source) -> {
            Matcher matcher = CATCH.matcher(source);
            while (matcher.find()) {
                String failure = matcher.group(1);
                String block = source.substring(matcher.end(), end(source, matcher.end()));
                Matcher call = MAY_FAIL.matcher(block);
                while (call.find()) {
                    String before = block.substring(0, call.start());
                    String arguments = block.substring(call.end(), block.indexOf(';', call.end()));
                    boolean isKept = before.contains("throw " + failure + ";")
                            || before.matches("(?s).*\\btry \\{\\s*\\S*")
                            || arguments.matches("(?s).*\\b" + failure + "\\b.*");
                    if (!isKept && !NOTED.contains(file.getFileName().toString())) {
                        found.add(file.getFileName() + ": " + block.strip());
                    }
                }
            }
        });

        assertThat(found).isEmpty();
    }

    /** A package of more holds several things that could have names. */
    @Test
    void noPackageHasMoreFilesThanOneCanKnow() {
        Map<Path, Long> files = SOURCES.keySet().stream().collect(groupingBy(Path::getParent, counting()));

        assertThat(files)
                .allSatisfy((folder, count) ->
                        assertThat(count).describedAs("files in %s", folder).isLessThanOrEqualTo(FILES_OF_A_PACKAGE));
    }

    /** Or someone's name ends a quote one day, and the rest of it is run. */
    @Test
    void oneClassQuotesForSql() {
        List<String> found = new ArrayList<>();
        SOURCES.forEach((file, source) -> {
            Matcher matcher = QUOTING.matcher(source);
            while (matcher.find()) {
                if (!OTHER_QUOTING.contains(file.getFileName().toString())) {
                    found.add(file.getFileName() + ": " + matcher.group());
                }
            }
        });

        assertThat(found).isEmpty();
    }

    /** By the default locale a number has other digits, or a comma, and so has SQL: {@code %s}, or {@code Locale.ROOT}. */
    @Test
    void noNumberIsFormattedByTheDefaultLocale() {
        List<String> found = new ArrayList<>();
        SOURCES.forEach((file, source) -> {
            int statement = 0;
            int i = 0;
            while (i < source.length()) {
                int end = literalEnd(source, i);
                if (end > i) {
                    String text = source.substring(i, end);
                    String before = source.substring(statement, i);
                    if (NUMBER.matcher(text).find()
                            && !before.contains("Locale.ROOT")
                            && !before.contains(
                                    "rr.printf(") // standard error of commands, whose writer has Locale.ROOT
                            && !before.contains("getErr()")
                            && !text.contains("archive/%f")) {
                        found.add(file.getFileName() + ": " + text);
                    }
                    i = end;
                } else if (source.startsWith("//", i)) {
                    i = source.indexOf('\n', i);
                } else if (source.startsWith("/*", i)) {
                    i = source.indexOf("*/", i) + 2;
                } else {
                    char c = source.charAt(i++);
                    if (c == ';' || c == '{' || c == '}') {
                        statement = i;
                    } else if (c == '\'') {
                        i = source.indexOf('\'', source.charAt(i) == '\\' ? i + 2 : i + 1) + 1;
                    }
                }
            }
        });

        assertThat(found).isEmpty();
    }

    /** Advice has commands as values: {@code CliCommand} alone knows how they are written, and a test parses them. */
    @Test
    void theRouterAndTheEnginesKnowNoCommandLine() {
        CommandLine all = Shardflake.allCommands();
        String names = String.join("|", all.getSubcommands().keySet());
        String paths = all.getSubcommands().entrySet().stream()
                .flatMap(group ->
                        group.getValue().getSubcommands().keySet().stream().map(name -> group.getKey() + " " + name))
                .collect(joining("|"));
        Pattern syntax = Pattern.compile("\\bshardflake (%s)\\b|\\b(%s)\\b|[\" ]--[a-z]".formatted(names, paths));
        Pattern nameOfASession = Pattern.compile("\"shardflake [a-z ,-]*\"");
        List<String> found = new ArrayList<>();
        SOURCES.forEach((file, source) -> {
            if (!ENGINES.matcher(file.toString()).find() || file.endsWith("CliCommand.java")) {
                return;
            }
            Matcher literal = LITERAL.matcher(source);
            while (literal.find()) {
                String text = literal.group();
                if (syntax.matcher(text).find()
                        && !nameOfASession.matcher(text).matches()
                        && !text.startsWith("\"Made by shardflake gateway")) { // the mark of a gateway's objects
                    found.add(file.getFileName() + ": " + text);
                }
            }
        });

        assertThat(found).isEmpty();
    }

    /** {@code Plural} says "shard 3 is" and "shards 3,4 are". What cannot use it has a literal for one shard beside that for several. */
    @Test
    void noMessageSpeaksOfOneShardAsSeveral() {
        Pattern several = Pattern.compile("(?<!%s )\\bshards (%(?:[0-9]\\$)?s) (?!is out of range)");
        List<String> found = new ArrayList<>();
        SOURCES.forEach((file, source) -> {
            Matcher literal = LITERAL.matcher(source);
            while (literal.find()) {
                Matcher shards = several.matcher(literal.group().replaceFirst("\"$", " "));
                if (shards.find() && !source.contains("shard %s ".formatted(shards.group(1)))) {
                    found.add(file.getFileName() + ": " + literal.group());
                }
            }
        });

        assertThat(found).isEmpty();
    }

    /** The end of the string or text block that begins here; otherwise here. */
    private static int literalEnd(String source, int begin) {
        String quote = source.startsWith("\"\"\"", begin) ? "\"\"\"" : "\"";
        if (!source.startsWith(quote, begin)) {
            return begin;
        }
        int i = begin + quote.length();
        while (!source.startsWith(quote, i)) {
            i += source.charAt(i) == '\\' ? 2 : 1;
        }
        return i + quote.length();
    }

    private static int end(String source, int begin) {
        int depth = 1;
        int i = begin;
        while (depth > 0) {
            char c = source.charAt(i++);
            depth += c == '{' ? 1 : c == '}' ? -1 : 0;
        }
        return i - 1;
    }
}
