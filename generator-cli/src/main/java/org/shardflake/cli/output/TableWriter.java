/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.shardflake.ShardSet;

/**
 * A table without borders: upper-case headers, columns as wide as they need, two spaces between them.
 *
 * <p>On a terminal that is too narrow it leaves out the columns that matter least, and wraps its last column. Output to
 * a file or a pipe has all columns, each row on a line.
 */
public final class TableWriter {

    private static final String GAP = "  ";

    /** The smallest width of a wrapped column; a narrower one would be all line breaks. */
    private static final int NARROWEST_WRAPPED = 20;

    private static final int SHARDS_WIDTH = 40;

    private final List<String[]> lines = new ArrayList<>();
    private final int[] widths;
    private List<String> leastImportant = List.of();

    public TableWriter(String... headers) {
        widths = new int[headers.length];
        add(headers);
    }

    /** The shards, shortened to the room that a table has for them. */
    public static String shorten(ShardSet shards) {
        String text = shards.toString();
        if (text.length() <= SHARDS_WIDTH) {
            return text;
        }
        return text.substring(0, text.lastIndexOf(',', SHARDS_WIDTH - 3) + 1) + "...";
    }

    /** Names columns that may be left out, in this order. */
    public TableWriter mayLeaveOut(String... headers) {
        leastImportant = List.of(headers);
        return this;
    }

    /** Adds a row with one value for each header. */
    public TableWriter row(Object... values) {
        if (values.length != widths.length) {
            throw new IllegalArgumentException("%s values for %s columns".formatted(values.length, widths.length));
        }
        add(Arrays.stream(values).map(String::valueOf).map(Visible::line).toArray(String[]::new));
        return this;
    }

    private void add(String[] line) {
        lines.add(line);
        for (int i = 0; i < line.length; i++) {
            widths[i] = Math.max(widths[i], line[i].length());
        }
    }

    /** The table, with each line terminated, no wider than the terminal if possible. */
    @Override
    public String toString() {
        int width = width(allColumns());
        return fit(
                TerminalSize.mayBeNarrowerThan(width) ? TerminalSize.current().width() : width);
    }

    /** The table for a terminal of this width. */
    String fit(int terminal) {
        List<Integer> shown = allColumns();
        List<String> leftOut = new ArrayList<>();
        for (String header : leastImportant) {
            int column = Arrays.asList(lines.get(0)).indexOf(header);
            if (needed(shown, column) > terminal && shown.remove((Integer) column)) {
                leftOut.add(header);
            }
        }
        int last = shown.get(shown.size() - 1);
        int lastWidth = terminal - (width(shown) - widths[last]);
        boolean wraps = width(shown) > terminal && lastWidth >= NARROWEST_WRAPPED;
        StringBuilder table = new StringBuilder();
        for (String[] line : lines) {
            List<String> texts = wraps ? wrap(line[last], lastWidth) : List.of(line[last]);
            String indent = " ".repeat(width(shown) - widths[last]);
            for (int part = 0; part < texts.size(); part++) {
                String before = part == 0 ? cells(line, shown.subList(0, shown.size() - 1)) : indent;
                table.append((before + texts.get(part)).stripTrailing()).append('\n');
            }
        }
        if (!leftOut.isEmpty()) {
            String note = "(--wide shows %s, too)".formatted(String.join(", ", leftOut));
            wrap(note, terminal).forEach(part -> table.append(part).append('\n'));
        }
        return table.toString();
    }

    /** The width of the table with these columns; the last one is left out only if it cannot be wrapped either. */
    private int needed(List<Integer> columns, int column) {
        boolean isWrapped = column == columns.get(columns.size() - 1) && widths[column] > NARROWEST_WRAPPED;
        return width(columns) - (isWrapped ? widths[column] - NARROWEST_WRAPPED : 0);
    }

    private List<Integer> allColumns() {
        return IntStream.range(0, widths.length).boxed().collect(Collectors.toCollection(ArrayList::new));
    }

    private int width(List<Integer> columns) {
        return columns.stream().mapToInt(column -> widths[column]).sum() + GAP.length() * (columns.size() - 1);
    }

    private String cells(String[] line, List<Integer> columns) {
        return columns.stream()
                .map(column -> line[column] + " ".repeat(widths[column] - line[column].length()) + GAP)
                .collect(Collectors.joining());
    }

    /** Breaks a text at spaces, and inside words that are too long. */
    private static List<String> wrap(String text, int width) {
        List<String> parts = new ArrayList<>();
        String rest = text;
        while (rest.length() > width) {
            int space = rest.lastIndexOf(' ', width);
            int end = space > 0 ? space : width;
            parts.add(rest.substring(0, end));
            rest = rest.substring(end).stripLeading();
        }
        parts.add(rest);
        return parts;
    }
}
