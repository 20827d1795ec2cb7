/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.summary;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.shardflake.benchmarks.report.Markdown;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Target;

/** The part of the README between two comments: what the pages say of their goals, and a chart of theirs. */
public final class ReadmeSummary {

    private static final String BEGIN = "<!-- benchmarks -->\n";
    private static final String END = "<!-- end of benchmarks -->";
    private static final String DIRECTORY = "src/docs/benchmarks/";
    /** Rows that only the page has: one thread says little of a router, and the README has the figures with JDBC. */
    private static final Pattern LEFT_OUT = Pattern.compile(".*(, 1 thread,|with jOOQ).*");

    private final Path pages;
    private final List<String> rows = new ArrayList<>();
    private final List<String> missing = new ArrayList<>();

    /** Reads the pages in this directory. */
    ReadmeSummary(Path pages) throws IOException {
        this.pages = pages;
        addGoals("ids");
        addGoals("router");
        addGoals("moves");
        addGoals("deploys");
    }

    /** Puts into the README of this checkout what the pages say. Measures nothing. */
    public static void write() throws IOException {
        Path pages = Report.directory();
        Path readme = pages.resolve("../../../README.md").normalize();
        ReadmeSummary summary = new ReadmeSummary(pages);
        Files.writeString(readme, summary.into(Files.readString(readme)));
        summary.missing()
                .forEach(page ->
                        System.out.printf("%s has no page %s.md: nothing of it is in the README%n", pages, page));
    }

    /** The names of the pages that are not there. */
    List<String> missing() {
        return List.copyOf(missing);
    }

    private void addGoals(String name) throws IOException {
        String page = read(name);
        if (page.isEmpty()) {
            return;
        }
        for (List<String> row : goals(page)) {
            String what = row.get(Target.HEADERS.indexOf("What"));
            if (!LEFT_OUT.matcher(what).matches()) {
                boolean met = row.get(Target.HEADERS.indexOf("Met")).equals("yes");
                rows.add(Markdown.row(List.of(
                        what,
                        row.get(Target.HEADERS.indexOf("Measured")),
                        row.get(Target.HEADERS.indexOf("Goal")) + (met ? "" : ", **missed**"),
                        "[%s](%s%s.md)".formatted(name, DIRECTORY, name))));
            }
        }
    }

    /** The rows of the first table under the heading of the goals. */
    private static List<List<String>> goals(String page) {
        List<String> lines = page.lines()
                .dropWhile(line -> !line.equals("## Goals"))
                .dropWhile(line -> !line.startsWith("| "))
                .takeWhile(line -> line.startsWith("| "))
                .toList();
        if (lines.isEmpty() || !lines.get(0).equals(Markdown.row(Target.HEADERS))) {
            throw new IllegalArgumentException("no table of goals under \"## Goals\"");
        }
        return lines.stream()
                .skip(2)
                .map(line -> List.of(line.replaceAll("^\\| | \\|$", "").split(" \\| ", -1)))
                .toList();
    }

    private String read(String name) throws IOException {
        Path file = pages.resolve(name + ".md");
        if (Files.exists(file)) {
            return Files.readString(file);
        }
        missing.add(name);
        return "";
    }

    /**
     * The README with this part made anew.
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
                |---|---|---|---|
                %s

                ![Single-row inserts over 8 connections](%sids-inserts.svg)

                """.formatted(
                        Markdown.row(List.of("What", "Measured", "Goal", "Page")), String.join("\n", rows), DIRECTORY);
    }
}
