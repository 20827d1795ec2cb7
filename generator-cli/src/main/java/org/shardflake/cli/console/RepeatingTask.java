/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A task on its own thread that runs at the start, and then repeatedly while a page is open. */
final class RepeatingTask {

    /** The factor by which a pause is longer than the run before it, so that the task does not keep servers busy. */
    private static final int REST = 5;

    private static final Duration MOST_REST = Duration.ofSeconds(3);

    /** The repeated work. */
    interface Task {
        void run() throws InterruptedException;
    }

    private final PageState board;
    private final Task task;
    private final Duration pause;
    private final Consumer<String> told;
    private String problem = "";
    private final Thread thread;
    private @Nullable Duration hurriedRest;
    private long ended = System.nanoTime();
    private volatile long next = System.nanoTime();
    private @Nullable Duration unseen;

    /**
     * @param pause between the end of one and the beginning of the next, which is longer after one that took long
     * @param told who hears that it failed, once for each reason
     */
    RepeatingTask(String name, PageState board, Duration pause, Consumer<String> told, Task task) {
        this.board = board;
        this.task = task;
        this.pause = pause;
        this.told = told;
        this.thread = new Thread(this::repeat, "shardflake console: " + name);
        thread.setDaemon(true);
    }

    /** Makes the task run also while no page is open, with a longer pause. */
    RepeatingTask alsoUnseen(Duration longer) {
        unseen = longer;
        return this;
    }

    void start() {
        thread.start();
    }

    /** Starts the next run now, or when the current one has ended, but not before this much time has passed since the last run. */
    synchronized void hurry(Duration rest) {
        hurriedRest = rest;
        next = Math.min(next, ended + rest.toNanos());
        board.wake();
    }

    void stop() {
        thread.interrupt();
    }

    private void repeat() {
        try {
            while (!board.isClosed()) {
                begin();
                long began = System.nanoTime();
                runOnce();
                end(System.nanoTime() - began);
                board.awaitTurn(() -> next, unseen == null ? Long.MAX_VALUE : unseen.toNanos());
            }
        } catch (InterruptedException e) {
            // The console is ending.
        }
    }

    private synchronized void begin() {
        hurriedRest = null;
    }

    private synchronized void end(long took) {
        ended = System.nanoTime();
        long rest = Math.max(pause.toNanos(), Math.min(MOST_REST.toNanos(), REST * took));
        next = ended + (hurriedRest == null ? rest : hurriedRest.toNanos());
    }

    private void runOnce() throws InterruptedException {
        try {
            task.run();
            problem = "";
        } catch (RuntimeException | Error e) {
            // Also an error, such as of a class that is missing: if the thread ended, the page would wait for it.
            if (!problem.equals(e.toString())) {
                problem = e.toString();
                told.accept("%s failed: %s".formatted(thread.getName(), problem));
            }
        }
    }
}
