/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.List;
import java.util.regex.Pattern;

/** Text as Markdown. */
public final class Markdown {

    private static final Pattern SPECIAL = Pattern.compile("[\\\\`*_{}\\[\\]<>#|~$&]");

    private Markdown() {}

    /** Text that says what it says, whatever is in it: an error message, or the name of a processor. */
    public static String escape(String text) {
        return SPECIAL.matcher(text)
                .replaceAll("\\\\$0")
                .replaceAll("\\s+", " ")
                .trim();
    }

    /** A row of a table. Cells are Markdown; only what would end a cell or the row is escaped. */
    public static String row(List<String> cells) {
        StringBuilder row = new StringBuilder("|");
        for (String cell : cells) {
            row.append(' ')
                    .append(cell.replaceAll("\\s*\\R\\s*", " ").replaceAll("(?<!\\\\)\\|", "\\\\|"))
                    .append(" |");
        }
        return row.toString();
    }
}
