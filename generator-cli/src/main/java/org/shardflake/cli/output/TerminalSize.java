/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.io.IOException;
import org.jline.terminal.Terminal;
import org.jline.terminal.TerminalBuilder;

/** The columns and lines of the terminal; without one, or with a size that makes no sense, there is room for everything. */
public record TerminalSize(int width, int height) {

    static final TerminalSize UNLIMITED = new TerminalSize(Integer.MAX_VALUE, Integer.MAX_VALUE);

    /** The width that terminals usually have at least; asking for it costs time. */
    private static final int USUAL_WIDTH = 80;

    private static final int LEAST_WIDTH = 40;

    private static volatile boolean isIgnored;

    /** Lets tables be as wide as they need. */
    public static void ignore() {
        isIgnored = true;
    }

    /** Whether the terminal may be narrower than this, so that its size has to be asked for. */
    static boolean mayBeNarrowerThan(int width) {
        return width > USUAL_WIDTH && !isIgnored && Progress.isTerminal();
    }

    /** The size now: people resize terminals. */
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
