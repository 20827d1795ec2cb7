/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.io.PrintWriter;

/** Shows a text repeatedly: on a terminal in place of the previous one, otherwise below it. */
public final class Redraw {

    private static final String CLEAR_LINE = "\u001b[K";
    private static final String CLEAR_BELOW = "\u001b[J";

    private final PrintWriter out;
    private final boolean inPlace;
    private int shown;

    public Redraw(PrintWriter out) {
        this(out, Progress.isTerminal());
    }

    Redraw(PrintWriter out, boolean inPlace) {
        this.out = out;
        this.inPlace = inPlace;
    }

    /** Shows a text, cut to the number of lines that the terminal has. */
    public void show(String text) {
        show(text, inPlace ? TerminalSize.current() : TerminalSize.UNLIMITED);
    }

    void show(String text, TerminalSize terminal) {
        StringBuilder screen = new StringBuilder();
        if (inPlace && shown > 0) {
            screen.append("\u001b[").append(shown).append('A');
        }
        shown = 0;
        for (String line : text.stripTrailing().lines().toList()) {
            int rows = 1 + Math.max(0, line.length() - 1) / terminal.width();
            // The cursor needs a row of its own.
            if (shown + rows >= terminal.height()) {
                break;
            }
            shown += rows;
            // Cleared line by line, since an empty screen between two texts would flicker.
            screen.append(line).append(inPlace ? CLEAR_LINE : "").append('\n');
        }
        out.print(screen.append(inPlace ? CLEAR_BELOW : ""));
        out.flush();
    }
}
