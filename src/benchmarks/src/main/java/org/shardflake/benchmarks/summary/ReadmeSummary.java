/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.summary;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.shardflake.benchmarks.report.Markdown;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Target;

/** The part of the benchmarks' README between two comments: the worst and the best that the pages say of each kind of goal. */
public final class ReadmeSummary {

    private static final String BEGIN = "<!-- benchmarks -->\n";
    private static final String END = "<!-- end of benchmarks -->";

    /** Goals of a page that are a row of the README together. The groups of the pattern tell them apart. */
    private record Kind(String page, String what, Pattern goals) {
        Kind(String page, String what, String goals) {
            this(page, what, Pattern.compile(goals));
        }
    }

    private static final List<Kind> KINDS = List.of(
            new Kind("ids", "time per id, beside others", "time per id, (beside .*)"),
            new Kind("ids", "inserts, beside bigserial", "single-row inserts over (.*), beside bigserial"),
            new Kind("ids", "duplicate ids in all trials", "duplicates in all trials"),
            new Kind("router", "router with JDBC, beside bare JDBC", "router with JDBC, (.*), beside bare JDBC"),
            new Kind(
                    "router",
                    "router with jOOQ, beside bare jOOQ; of many shards, beside bare JDBC",
                    "router with jOOQ, (.*), beside bare (?:jOOQ|JDBC)"),
            new Kind(
                    "router",
                    "router, beside ShardingSphere-JDBC",
                    "router with ((?:JDBC|jOOQ), .*), beside ShardingSphere-JDBC"),
            new Kind(
                    "moves",
                    "move, times as fast as dump and restore",
                    "whole move ?(.*), times as fast as dump and restore"),
            new Kind("moves", "write pause of a cutover", "write pause of a cutover, (.*)"),
            new Kind("moves", "writes failed, lost or doubled in moves", "(transactions|acknowledged|writes) .*"),
            new Kind(
                    "deploys",
                    "deployment, times as fast as a loop of Liquibase",
                    "(.*), 2,000 shards, times as fast as .*"));

    /** A row of a page's goals. */
    private record Goal(String which, String measured, String wanted, boolean met) {

        /** The figure's first number, which is the median. */
        double figure() {
            Matcher number = Pattern.compile("[0-9][0-9.,]*").matcher(measured);
            return number.find() ? Double.parseDouble(number.group().replace(",", "")) : 0;
        }

        String cell() {
            return which.isEmpty() ? measured : measured + ", " + which;
        }
    }

    private final List<String> rows = new ArrayList<>();

    /** Reads the pages in this directory. */
    ReadmeSummary(Path pages) throws IOException {
        for (Kind kind : KINDS) {
            rows.add(row(kind, goals(kind, Files.readString(pages.resolve(kind.page() + ".md")))));
        }
    }

    /** Puts into the README beside the pages what they say. Measures nothing. */
    public static void write() throws IOException {
        Path pages = Report.directory();
        Path readme = pages.resolve("README.md");
        Files.writeString(readme, new ReadmeSummary(pages).into(Files.readString(readme)));
    }

    private static String row(Kind kind, List<Goal> goals) {
        boolean lessIsBetter = !goals.get(0).wanted().startsWith("at least");
        Comparator<Goal> better = Comparator.comparingDouble(Goal::figure);
        List<Goal> sorted =
                goals.stream().sorted(lessIsBetter ? better.reversed() : better).toList();
        Goal worst = sorted.get(0);
        Goal best = sorted.get(sorted.size() - 1);
        boolean one = worst.measured().equals(best.measured());
        String wanted = goals.stream().map(Goal::wanted).distinct().collect(Collectors.joining(", "));
        return Markdown.row(List.of(
                kind.what(),
                one ? worst.measured() : worst.cell(),
                one ? "" : best.cell(),
                wanted + missed(goals),
                "[%s](%s.md)".formatted(kind.page(), kind.page())));
    }

    private static String missed(List<Goal> goals) {
        long missed = goals.stream().filter(goal -> !goal.met()).count();
        if (missed == 0) {
            return "";
        }
        return goals.size() == 1 ? "; **missed**" : "; **%d of %d missed**".formatted(missed, goals.size());
    }

    /** The goals in the first table under their heading. */
    private static List<Goal> goals(Kind kind, String page) {
        List<String> lines = page.lines()
                .dropWhile(line -> !line.equals("## Goals"))
                .dropWhile(line -> !line.startsWith("| "))
                .takeWhile(line -> line.startsWith("| "))
                .toList();
        if (lines.isEmpty() || !lines.get(0).equals(Markdown.row(Target.HEADERS))) {
            throw new IllegalArgumentException("no table of goals under \"## Goals\"");
        }
        List<Goal> goals = new ArrayList<>();
        for (String line : lines.subList(2, lines.size())) {
            List<String> cells = List.of(line.replaceAll("^\\| | \\|$", "").split(" \\| ", -1));
            Matcher what = kind.goals().matcher(cells.get(Target.HEADERS.indexOf("What")));
            if (what.matches()) {
                goals.add(new Goal(
                        what.groupCount() == 0 ? "" : what.group(1),
                        cells.get(Target.HEADERS.indexOf("Measured")),
                        cells.get(Target.HEADERS.indexOf("Goal")),
                        cells.get(Target.HEADERS.indexOf("Met")).equals("yes")));
            }
        }
        if (goals.isEmpty()) {
            throw new IllegalArgumentException("page %s has no goal like \"%s\"".formatted(kind.page(), kind.goals()));
        }
        return goals;
    }

    /**
     * The README with this part replaced.
     *
     * @throws IllegalArgumentException if it lacks one of the comments that this part stands between
     */
    String into(String readme) {
        int begin = readme.indexOf(BEGIN);
        int end = readme.indexOf(END, begin);
        if (begin < 0 || end < 0) {
            throw new IllegalArgumentException("the README lacks \"%s\" and then \"%s\"".formatted(BEGIN.strip(), END));
        }
        return readme.substring(0, begin + BEGIN.length()) + part() + readme.substring(end);
    }

    private String part() {
        return """
                %s
                |---|---|---|---|---|
                %s
                """.formatted(Markdown.row(List.of("What", "Worst", "Best", "Goal", "Page")), String.join("\n", rows));
    }
}
