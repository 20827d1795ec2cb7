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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.shardflake.benchmarks.report.Markdown;
import org.shardflake.benchmarks.report.Report;

/** The part of the README between two comments: what the pages say of their goals, and a chart of theirs. */
public final class ReadmeSummary {

    private static final String BEGIN = "<!-- benchmarks -->\n";
    private static final String END = "<!-- end of benchmarks -->";
    private static final String DIRECTORY = "src/docs/benchmarks/";
    private static final String SHORT = " **short**";
    private static final Pattern ROUTER_GOALS = Pattern.compile(
            "The goals are (?<bare>\\S+) of bare JDBC, (?<peer>\\S+) times ShardingSphere-JDBC, and a start (?<start>\\S+) times faster");

    private final Path pages;
    private final List<String> rows = new ArrayList<>();
    private final List<String> missing = new ArrayList<>();

    /** Reads the pages in this directory. */
    ReadmeSummary(Path pages) throws IOException {
        this.pages = pages;
        addGoals("ids");
        addRouter();
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
        MarkdownTable goals = MarkdownTable.under("## Goals", page);
        for (List<String> row : goals.rows()) {
            add(
                    goals.cell(row, "What"),
                    goals.cell(row, "Goal"),
                    goals.cell(row, "Measured"),
                    goals.cell(row, "Met").equals("yes"),
                    name);
        }
    }

    /** Of each operation with the most threads, what the router with JDBC came to beside both others. */
    private void addRouter() throws IOException {
        String page = read("router");
        if (page.isEmpty()) {
            return;
        }
        Matcher goals = ROUTER_GOALS.matcher(page);
        if (!goals.find()) {
            throw new IllegalArgumentException("the router's page says nothing like " + ROUTER_GOALS);
        }
        MarkdownTable table = MarkdownTable.under("# The router beside its peers", page);
        for (List<String> row : table.rows()) {
            String what = "router with JDBC, " + table.cell(row, "");
            String ofBare = table.cell(row, "with JDBC, of bare JDBC");
            String ofShardingSphere = table.cell(row, "with JDBC, times ShardingSphere");
            if (ofBare.isEmpty()) {
                addTimes(what + ", faster than ShardingSphere-JDBC", ofShardingSphere, goals.group("start"));
            } else if (!what.endsWith(", 1 thread")) {
                addTimes(what + ", beside bare JDBC", ofBare, goals.group("bare"));
                addTimes(what + ", beside ShardingSphere-JDBC", ofShardingSphere, goals.group("peer"));
            }
        }
    }

    private void addTimes(String what, String measured, String goal) {
        add(what, "at least " + goal, measured.replace(SHORT, ""), !measured.endsWith(SHORT), "router");
    }

    private void add(String what, String goal, String measured, boolean met, String page) {
        rows.add(Markdown.row(List.of(
                what, measured, goal + (met ? "" : ", **missed**"), "[%s](%s%s.md)".formatted(page, DIRECTORY, page))));
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
