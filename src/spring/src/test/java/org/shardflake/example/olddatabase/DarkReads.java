/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import java.util.EnumMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.shardflake.router.DarkRead;
import org.shardflake.router.DarkRead.Outcome;
import org.shardflake.router.RouterListener;

/** Counts the reads that the router has compared. */
class DarkReads implements RouterListener {

    private final Map<Outcome, Integer> counts = new EnumMap<>(Outcome.class);
    private final Queue<DarkRead> failed = new ConcurrentLinkedQueue<>();

    @Override
    public synchronized void darkReadEnded(DarkRead read) {
        counts.merge(read.outcome(), 1, Integer::sum);
        if (read.outcome() == Outcome.FAILED) {
            failed.add(read);
        }
    }

    synchronized int count(Outcome outcome) {
        return counts.getOrDefault(outcome, 0);
    }

    /** The reads that a shard's server could not run. */
    Queue<DarkRead> failed() {
        return failed;
    }

    @Override
    public synchronized String toString() {
        return counts.toString();
    }
}
