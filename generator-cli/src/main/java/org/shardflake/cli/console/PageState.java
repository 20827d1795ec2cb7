/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/** The current content of the page, one JSON text per part, and the number of open pages. Thread-safe. */
final class PageState {

    /** The time without requests after which a page counts as closed; longer than a page takes to reconnect. */
    private static final long PAUSE = Duration.ofSeconds(10).toNanos();

    private final Set<String> passing;
    private final Map<String, String> parts = new LinkedHashMap<>();
    private int viewers;
    private long left = System.nanoTime();
    private boolean closed;

    /**
     * @param passing parts that are as they were at the last look, so that who comes after a pause gets none
     */
    PageState(Set<String> passing) {
        this.passing = passing;
    }

    synchronized void put(String part, String json) {
        if (!json.equals(parts.put(part, json))) {
            notifyAll();
        }
    }

    synchronized void arrive() {
        if (viewers == 0 && System.nanoTime() - left > PAUSE) {
            parts.keySet().removeAll(passing);
        }
        viewers++;
        notifyAll();
    }

    synchronized void leave() {
        viewers--;
        left = System.nanoTime();
    }

    /** Makes the waiting thread check its time again. */
    synchronized void wake() {
        notifyAll();
    }

    /** Wakes all waiting threads, and ends their waits. */
    synchronized void close() {
        closed = true;
        notifyAll();
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /**
     * Waits until a page is open and the given time has come, or until the state is closed.
     *
     * @param unseen the time for which it waits in vain for a page
     */
    synchronized void awaitTurn(LongSupplier nanoTime, long unseen) throws InterruptedException {
        long begin = System.nanoTime();
        while (!closed) {
            long now = System.nanoTime();
            long left = viewers > 0 ? nanoTime.getAsLong() - now : unseen - (now - begin);
            if (left <= 0) {
                return;
            }
            wait(left / 1_000_000 + 1);
        }
    }

    /** Waits for the first change, and returns the changed parts; empty if nothing changes in time. */
    synchronized Map<String, String> news(Map<String, String> before, Duration patience) throws InterruptedException {
        long deadline = System.nanoTime() + patience.toNanos();
        while (true) {
            Map<String, String> news = new HashMap<>();
            parts.forEach((part, json) -> {
                if (!json.equals(before.get(part))) {
                    news.put(part, json);
                }
            });
            long left = deadline - System.nanoTime();
            if (!news.isEmpty() || closed || left <= 0) {
                return news;
            }
            wait(left / 1_000_000 + 1);
        }
    }
}
