/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.guide;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Runs the commands of the guide in a shell, and compares what they print with what the guide says, but for times, sizes, ids and
 * ports. {@code -Dguide.update} writes what was printed into the pages instead.
 */
final class GuideReader {

    /** Begins what a page has among its hidden commands, and no shell can do. */
    private static final String CAUSE = "cause ";

    /** What is different each time. */
    private static final Map<Pattern, String> VARYING = new LinkedHashMap<>();

    static {
        Psql.FORMAT.forEach(GuideReader::varying);
        varying("^([a-z ]+): [\\d,]+ of (about )?[\\d,]+.*$", ""); // progress comes or not
        varying("^copied [\\d,]+ of about [\\d,]+ rows$", "");
        varying("^\\d+ shards? (left|came back|could leave), the last of them .*$", "");
        varying("^brought [\\d,]+ changes? over$", "");
        varying("\\bPostgreSQL \\d+\\.\\d+", "PostgreSQL VERSION");
        varying("^waiting: .*$", ""); // after a second, on a busy machine
        varying("^shard \\d+: an attempt gave itself up, .*$", ""); // and another one did not
        varying(" and \\d+ attempts$", "");
        varying("\\bpostgres\\b", "app");
        varying("\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z", "TIME");
        varying("localhost:\\d+", "localhost:PORT");
        varying(", port \\d+", ", port PORT");
        varying("\\b\\d{15,19}\\b", "ID");
        varying("[\\d.,]+ (B|kB|[KMG]iB)\\b", "BYTES");
        varying("[\\d.,]+ (ms|s|min|h|d)\\b", "DURATION");
        varying("[\\d.,]+ %", "PERCENT");
        varying("\\d+ errors", "ERRORS");
        varying("[\\d,]+ (rows/s written|inserted|read)\\b", "RATE $1");
        varying("(?<=^db\\d {1,9}\\d{1,4} {1,9})[\\d,]+ +[\\d,]+ +[\\d,]+ +(?=BYTES)", "RATES ");
        varying("\\s+", " ");
    }

    private static void varying(String pattern, String name) {
        VARYING.put(Pattern.compile(pattern), name);
    }

    private final Path directory;
    private final String password;
    private final Map<String, String> names = new LinkedHashMap<>();
    private final Map<String, Cause> causes = new HashMap<>();

    /** Something that happens to a server. */
    @FunctionalInterface
    interface Cause {
        void call() throws Exception;
    }

    /** Reads in a directory of its own, and logs in with a password. */
    GuideReader(Path directory, String password) {
        this.directory = directory;
        this.password = password;
    }

    /** What a name that the pages use stands for here: of a server, or a login. */
    void name(String onThePage, String here) {
        names.put(onThePage, here);
    }

    /** What happens where a page says {@code cause} and this, in {@code <!-- run: ... -->}. */
    void cause(String what, Cause cause) {
        causes.put(what, cause);
    }

    /** Runs the commands of pages, one after the other in one shell. */
    void follow(List<GuidePage> pages) throws Exception {
        List<String> differences = new ArrayList<>();
        try (GuideShell shell = new GuideShell(directory, Map.of("PGPASSWORD", password))) {
            for (GuidePage page : pages) {
                run(page, shell, differences);
            }
        }
        assertThat(String.join("\n", differences)).isEmpty();
    }

    private void run(GuidePage page, GuideShell shell, List<String> differences) throws Exception {
        List<List<String>> outputs = new ArrayList<>();
        for (GuidePage.Step step : page.steps()) {
            List<String> output = run(step, shell, differences);
            boolean alike = step.hidden() || alike(step.output(), output);
            outputs.add(alike ? step.output() : output);
            if (!alike) {
                differences.add("%s:%s: $ %s%n--- the page says%n%s%n--- it printed%n%s%n"
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

    private List<String> run(GuidePage.Step step, GuideShell shell, List<String> differences) throws Exception {
        String command = step.command();
        if (step.hidden() && command.startsWith(CAUSE)) {
            String what = command.substring(CAUSE.length());
            assertThat(causes).as("what the test causes").containsKey(what);
            causes.get(what).call();
            return List.of();
        }
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
            differences.add("%s: exit code %s%n%s".formatted(command, result.exitCode(), result.lines()));
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
