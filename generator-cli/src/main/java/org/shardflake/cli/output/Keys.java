/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.jline.terminal.Terminal;
import org.jline.terminal.TerminalBuilder;
import org.jspecify.annotations.Nullable;

/** The keys pressed while a display refreshes: {@code q} ends it. */
public final class Keys implements AutoCloseable {

    private final @Nullable Terminal terminal;

    private Keys(@Nullable Terminal terminal) {
        this.terminal = terminal;
    }

    /** Reads keys without waiting for a line, until closed. Ctrl-C ends the process as ever. */
    public static Keys open() {
        if (!Progress.isTerminal()) {
            return new Keys(null);
        }
        try {
            Terminal terminal =
                    TerminalBuilder.builder().system(true).dumb(false).build();
            terminal.enterRawMode();
            return new Keys(terminal);
        } catch (IOException | IllegalStateException e) {
            return new Keys(null);
        }
    }

    /** Waits; returns whether the display should end because {@code q} was pressed. */
    public boolean quits(long millis) throws InterruptedException {
        if (terminal == null) {
            Thread.sleep(millis);
            return false;
        }
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        for (long left = millis; left > 0; left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())) {
            int key = read(left);
            if (key == 'q' || key == 'Q') {
                return true;
            }
            if (key == -1) {
                Thread.sleep(left); // No key can come after the end of the input.
            }
        }
        return false;
    }

    private int read(long millis) {
        try {
            return terminal == null ? -1 : terminal.reader().read(millis);
        } catch (IOException e) {
            return -1;
        }
    }

    @Override
    public void close() {
        if (terminal != null) {
            try {
                terminal.close();
            } catch (IOException e) {
                // It is as it was before, as far as it can be.
            }
        }
    }
}
