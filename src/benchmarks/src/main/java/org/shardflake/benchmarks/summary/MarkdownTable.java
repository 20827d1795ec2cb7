/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.summary;

import java.util.ArrayList;
import java.util.List;

/** A table read back from a page of {@link org.shardflake.benchmarks.report.Report}. */
record MarkdownTable(List<String> headers, List<List<String>> rows) {

    /**
     * The first table under a heading.
     *
     * @param heading as it stands on the page, such as {@code ## Goals}
     * @throws IllegalArgumentException if there is none
     */
    static MarkdownTable under(String heading, String page) {
        List<String> lines = page.lines()
                .dropWhile(line -> !line.equals(heading))
                .dropWhile(line -> !line.startsWith("| "))
                .takeWhile(line -> line.startsWith("| "))
                .toList();
        if (lines.size() < 3) {
            throw new IllegalArgumentException("no table under \"%s\"".formatted(heading));
        }
        List<List<String>> rows = new ArrayList<>();
        lines.subList(2, lines.size()).forEach(line -> rows.add(cells(line)));
        return new MarkdownTable(cells(lines.get(0)), rows);
    }

    private static List<String> cells(String line) {
        String inside = line.strip().replaceAll("^\\|\\s?|\\s?\\|$", "");
        return List.of(inside.split("\\s\\|\\s?", -1));
    }

    /**
     * The cell of a row in the column with this header.
     *
     * @throws IllegalArgumentException if there is no such column
     */
    String cell(List<String> row, String header) {
        int column = headers.indexOf(header);
        if (column < 0) {
            throw new IllegalArgumentException("no column \"%s\" among %s".formatted(header, headers));
        }
        return row.get(column);
    }
}
