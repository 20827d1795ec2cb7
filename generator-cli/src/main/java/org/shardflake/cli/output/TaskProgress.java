/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.io.PrintWriter;
import java.util.function.ObjIntConsumer;
import org.jspecify.annotations.Nullable;

/** The progress of several tasks in order, each with its total; short ones are silent unless a bar can be drawn. Thread-safe. */
public final class TaskProgress implements ObjIntConsumer<String>, AutoCloseable {

    private final PrintWriter err;
    private @Nullable Progress running;
    private String task = "";
    private int done;

    public TaskProgress(PrintWriter err) {
        this.err = err;
    }

    /** Counts one part of a task. */
    @Override
    public synchronized void accept(String its, int total) {
        if (!its.equals(task) || running == null) {
            close();
            task = its;
            done = 0;
            running = Progress.quietly(err, its, total);
        }
        running.advance(1);
        done++;
        if (done == total) {
            close();
        }
    }

    @Override
    public synchronized void close() {
        if (running != null) {
            running.close();
            running = null;
        }
    }
}
