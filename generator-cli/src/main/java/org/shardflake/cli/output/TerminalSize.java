/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.io.IOException;
import org.jline.terminal.Terminal;
import org.jline.terminal.TerminalBuilder;

/** The columns and lines of the terminal; unlimited without a terminal, or if its reported size makes no sense. */
public record TerminalSize(int width, int height) {

    static final TerminalSize UNLIMITED = new TerminalSize(Integer.MAX_VALUE, Integer.MAX_VALUE);

    /** The width that most terminals have at least, used to avoid asking, which takes time. */
    private static final int USUAL_WIDTH = 80;

    private static final int LEAST_WIDTH = 40;

    private static volatile boolean isIgnored;

    /** Makes the size unlimited, so that tables are as wide as they need. */
    public static void ignore() {
        isIgnored = true;
    }

    /** Whether the terminal may be narrower than this, so that it has to be asked for its size. */
    static boolean mayBeNarrowerThan(int width) {
        return width > USUAL_WIDTH && !isIgnored && Progress.isTerminal();
    }

    /** The current size; people resize terminals. */
    public static TerminalSize current() {
        if (!Progress.isTerminal()) {
            return UNLIMITED;
        }
        try (Terminal terminal =
                TerminalBuilder.builder().system(true).dumb(true).build()) {
            return terminal.getWidth() < LEAST_WIDTH || terminal.getHeight() < 2
                    ? UNLIMITED
                    : new TerminalSize(terminal.getWidth(), terminal.getHeight());
        } catch (IOException e) {
            return UNLIMITED;
        }
    }
}
