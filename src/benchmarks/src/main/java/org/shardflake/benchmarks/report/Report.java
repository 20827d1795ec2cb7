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

    /** Where reports belong: {@code src/docs/benchmarks} of this checkout, unless {@code -Dreport.directory} says otherwise. */
    public static Path directory() {
        String chosen = System.getProperty("report.directory");
        if (chosen != null) {
            return Path.of(chosen);
        }
        for (Path above = Path.of("").toAbsolutePath(); above != null; above = above.getParent()) {
            if (Files.isDirectory(above.resolve(DOCS))) {
                return above.resolve(DOCS).resolve("benchmarks");
            }
        }
        throw new IllegalStateException(
                "not in a checkout; say where the report goes with -Dreport.directory=DIRECTORY");
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

    /** Says with which command the page was made, and that it was today. */
    public Report command(String command) {
        return paragraph("Made on %s with:".formatted(LocalDate.now(ZoneOffset.UTC)))
                .code(command);
    }

    private Report block(String block) {
        page.append('\n').append(block).append('\n');
        return this;
    }

    /** The page as it is so far. */
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
