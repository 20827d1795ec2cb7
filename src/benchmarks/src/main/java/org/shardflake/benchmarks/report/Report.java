/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A page of Markdown with charts, written top down: what is added first comes first. Not thread-safe.
 *
 * <p>Text is Markdown; what comes from elsewhere goes through {@link Markdown#escape}.
 */
public final class Report {

    private static final Path DOCS = Path.of("src", "docs");

    private final StringBuilder page = new StringBuilder();
    private final Map<String, String> files = new LinkedHashMap<>();

    /** A page with nothing but its title. */
    public Report(String title) {
        page.append("# ").append(Markdown.escape(title)).append('\n');
    }

    /** The directory for reports: {@code src/docs/benchmarks} of this checkout, or {@code -Dreport.directory}. */
    public static Path directory() {
        String chosen = System.getProperty("report.directory");
        if (chosen != null) {
            return Path.of(chosen);
        }
        return inCheckout(DOCS).resolve("benchmarks");
    }

    /** The file with this path in the current checkout. */
    public static Path inCheckout(Path path) {
        for (Path above = Path.of("").toAbsolutePath(); above != null; above = above.getParent()) {
            if (Files.exists(above.resolve(path))) {
                return above.resolve(path);
            }
        }
        throw new IllegalStateException("%s is not here: run this in a checkout".formatted(path));
    }

    /** Begins a section. */
    public Report section(String heading) {
        return block("## " + Markdown.escape(heading));
    }

    /** Adds a paragraph. */
    public Report paragraph(String text) {
        return block(text.strip());
    }

    /** Adds a list of points. */
    public Report list(List<String> points) {
        return block("- " + String.join("\n- ", points));
    }

    /** Adds a table of what was to be reached. */
    public Report targets(List<Target> targets) {
        return table(Target.HEADERS, targets.stream().map(Target::row).toList());
    }

    /**
     * Adds a table.
     *
     * @throws IllegalArgumentException if a row has not as many cells as there are headers
     */
    public Report table(List<String> headers, List<List<String>> rows) {
        StringBuilder table = new StringBuilder(Markdown.row(headers))
                .append('\n')
                .append(Markdown.row(Collections.nCopies(headers.size(), "---")));
        for (List<String> row : rows) {
            if (row.size() != headers.size()) {
                throw new IllegalArgumentException("%s is not a row of %s".formatted(row, headers));
            }
            table.append('\n').append(Markdown.row(row));
        }
        return block(table.toString());
    }

    /**
     * Adds a chart.
     *
     * @param fileName ends in {@code .svg}; the file lies beside the page
     */
    public Report chart(String fileName, BarChart chart) {
        if (!fileName.matches("[A-Za-z0-9_-]+\\.svg") || files.put(fileName, chart.toSvg()) != null) {
            throw new IllegalArgumentException(fileName + " is no name of a chart, or there twice");
        }
        return block("![" + Markdown.escape(chart.title()) + "](" + fileName + ")");
    }

    /** Adds a block of code or output. */
    public Report code(String code) {
        return block("```\n" + code.strip() + "\n```");
    }

    /** Says with which command the page was made, that it was today, and on what. */
    public Report made(Sizing sizing, String machine) {
        if (sizing.isShort()) {
            paragraph("**This was a short run, to see that it works: its figures mean little.**");
        }
        return paragraph("Made on %s with:".formatted(LocalDate.now(ZoneOffset.UTC)))
                .code(sizing.command())
                .paragraph("On " + machine);
    }

    private Report block(String block) {
        page.append('\n').append(block).append('\n');
        return this;
    }

    /** The page so far. */
    public String toMarkdown() {
        return page.toString();
    }

    /**
     * Writes the page and its charts, over what was there.
     *
     * @param name of the page, without {@code .md}
     */
    public void write(Path directory, String name) throws IOException {
        Files.createDirectories(directory);
        for (Map.Entry<String, String> file : files.entrySet()) {
            Files.writeString(directory.resolve(file.getKey()), file.getValue());
        }
        Files.writeString(directory.resolve(name + ".md"), toMarkdown());
    }
}
