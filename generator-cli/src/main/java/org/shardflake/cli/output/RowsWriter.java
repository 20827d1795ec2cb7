/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes rows as they arrive, in bounded memory. A table's columns are as wide as its first rows need. Not thread-safe. */
public final class RowsWriter {

    /** The format of rows. */
    public enum Format {
        TABLE,
        JSON,
        CSV
    }

    /** The number of rows that determine a table's column widths. */
    private static final int FIRST_ROWS = 200;

    private static final int WIDEST = 60;

    private final PrintWriter out;
    private final Format format;
    private final List<String[]> first = new ArrayList<>();
    private List<String> columns = List.of();
    private int[] widths = {};
    private boolean hasWidths;
    private long written;

    public RowsWriter(PrintWriter out, Format format) {
        this.out = out;
        this.format = format;
    }

    /** The number of rows added so far. */
    public long written() {
        return written;
    }

    /** Whether columns are still unknown for a format that begins with them, as there was no row yet. */
    public boolean lacksHeader() {
        return format == Format.CSV && written == 0;
    }

    /** Writes the column names if there are no rows. */
    public void header(List<String> names) {
        csv(names);
    }

    /**
     * Adds a row.
     *
     * @param names of the columns, the same for every row
     * @param values numbers, booleans, texts or nulls
     */
    public void row(List<String> names, List<? extends @Nullable Object> values) {
        if (written++ == 0) {
            columns = names;
            begin();
        }
        switch (format) {
            case TABLE -> table(values);
            case JSON -> json(values);
            case CSV -> csv(values);
        }
    }

    private void begin() {
        switch (format) {
            case TABLE -> {
                widths = new int[columns.size()];
                first.add(columns.stream()
                        .map(name -> Visible.line(name.toUpperCase(Locale.ROOT)))
                        .toArray(String[]::new));
            }
            case JSON -> out.print("[");
            case CSV -> csv(columns);
        }
    }

    private void json(List<? extends @Nullable Object> values) {
        Map<String, @Nullable Object> row = new LinkedHashMap<>();
        for (int i = 0; i < values.size(); i++) {
            row.put(columns.get(i), values.get(i));
        }
        out.append(written == 1 ? "" : ",\n").append(JsonWriter.write(row));
    }

    private void csv(List<? extends @Nullable Object> values) {
        for (int i = 0; i < values.size(); i++) {
            out.append(i == 0 ? "" : ",").append(csv(values.get(i)));
        }
        out.append('\n');
    }

    /** A value in the CSV of PostgreSQL's COPY: null is empty, and an empty text is quoted. */
    private static String csv(@Nullable Object value) {
        if (value == null) {
            return "";
        }
        String text = value.toString();
        boolean isPlain =
                !text.isEmpty() && text.chars().noneMatch(c -> c == ',' || c == '"' || c == '\n' || c == '\r');
        return isPlain ? text : '"' + text.replace("\"", "\"\"") + '"';
    }

    private void table(List<? extends @Nullable Object> values) {
        String[] line = new String[values.size()];
        for (int i = 0; i < values.size(); i++) {
            line[i] = Visible.line(String.valueOf(values.get(i)));
        }
        if (hasWidths) {
            print(line);
            return;
        }
        first.add(line);
        if (first.size() > FIRST_ROWS) {
            printFirst();
        }
    }

    private void printFirst() {
        for (String[] line : first) {
            for (int i = 0; i < line.length; i++) {
                widths[i] = Math.min(WIDEST, Math.max(widths[i], line[i].length()));
            }
        }
        hasWidths = true;
        first.forEach(this::print);
        first.clear();
    }

    private void print(String[] line) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < line.length; i++) {
            text.append(line[i]).append(" ".repeat(Math.max(0, widths[i] - line[i].length()) + 2));
        }
        out.append(text.toString().stripTrailing()).append('\n');
    }

    /** Ends the rows. */
    public void end() {
        switch (format) {
            case TABLE -> printFirst();
            case JSON -> out.append(written == 0 ? "[" : "").append("]\n");
            case CSV -> {}
        }
        out.flush();
    }
}
