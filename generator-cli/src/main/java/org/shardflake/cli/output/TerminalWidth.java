/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.io.IOException;
import java.util.stream.Collectors;
import org.jline.terminal.Terminal;
import org.jline.terminal.TerminalBuilder;

/** Fits tables to the terminal: wrapped lines are unreadable. Output to a file or a pipe is not cut. */
final class TerminalWidth {

    /** No terminal is narrower, and looking costs time. */
    private static final int ALWAYS_FITS = 80;

    private static final char ESCAPE = '\u001b';

    private TerminalWidth() {}

    /** The table, with lines cut to the width of the terminal, if there is one. */
    static String fit(String text) {
        boolean fits = text.lines().allMatch(line -> line.length() <= ALWAYS_FITS);
        return fits || !Progress.isTerminal() ? text : fit(text, width());
    }

    /** Coloured lines keep the width given by their producer. */
    static String fit(String text, int width) {
        return text.lines()
                .map(line ->
                        line.length() <= width || line.indexOf(ESCAPE) >= 0 ? line : line.substring(0, width - 1) + "…")
                .collect(Collectors.joining("\n", "", "\n"));
    }

    private static int width() {
        try (Terminal terminal =
                TerminalBuilder.builder().system(true).dumb(true).build()) {
            return terminal.getWidth() > ALWAYS_FITS / 2 ? terminal.getWidth() : Integer.MAX_VALUE;
        } catch (IOException e) {
            return Integer.MAX_VALUE;
        }
    }
}
