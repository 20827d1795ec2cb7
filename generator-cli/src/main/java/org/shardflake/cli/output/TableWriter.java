/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A borderless table: upper-case headers, columns as wide as they need, two spaces between them. */
public final class TableWriter {

    private final List<String[]> lines = new ArrayList<>();
    private final int[] widths;

    public TableWriter(String... headers) {
        widths = new int[headers.length];
        add(headers);
    }

    /** Adds a row with one value for each header. */
    public TableWriter row(Object... values) {
        if (values.length != widths.length) {
            throw new IllegalArgumentException("%d values for %d columns".formatted(values.length, widths.length));
        }
        add(Arrays.stream(values).map(String::valueOf).toArray(String[]::new));
        return this;
    }

    private void add(String[] line) {
        lines.add(line);
        for (int i = 0; i < line.length; i++) {
            widths[i] = Math.max(widths[i], line[i].length());
        }
    }

    /** The table, with each line terminated, at most as wide as the terminal. */
    @Override
    public String toString() {
        StringBuilder table = new StringBuilder();
        for (String[] line : lines) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < line.length; i++) {
                text.append(line[i]).append(" ".repeat(widths[i] - line[i].length() + 2));
            }
            table.append(text.toString().stripTrailing()).append('\n');
        }
        return TerminalWidth.fit(table.toString());
    }
}
