/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The shards known to be open on one server, so that most commits need not ask. Thread-safe.
 *
 * <p>Each answer comes with the number of the server's latest fence. A lease guarantees that this is still the latest:
 * a fence stops its shard, then takes a number that no fence has had, and is up only after all leases of earlier
 * numbers have ended. So a shard that was open after a number was read stays open while a lease of that number lasts.
 * Losing a connection or the server invalidates nothing, since no number is used twice.
 */
final class OpenShards {

    /**
     * The time for which a shard is known to be open; less than the 2 ms that a fence waits (see {@code fence_tables.sql}), as clocks run at
     * different speeds.
     */
    private static final long LEASE_NANOS = 1_500_000;

    private final LongSupplier nanoTime;
    private final Map<Integer, Long> openAfter = new ConcurrentHashMap<>();
    private volatile @Nullable Lease lease;

    /**
     * @param fence the number of the server's latest fence
     * @param end when that ends, in nanoseconds of the clock given
     */
    private record Lease(long fence, long end) {}

    /** A question to the server, with the state of knowledge before it was sent. */
    static final class Question {

        private final int shard;
        private final @Nullable Lease held;
        private final long sent;

        private Question(int shard, @Nullable Lease held, long sent) {
            this.shard = shard;
            this.held = held;
            this.sent = sent;
        }
    }

    OpenShards(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** Whether a shard is known to be open now, without asking. */
    boolean isKnownOpen(int shard) {
        Lease held = lease;
        Long after = openAfter.get(shard);
        return held != null && after != null && after == held.fence && nanoTime.getAsLong() - held.end < 0;
    }

    /** Prepares a question about a shard; must be called before the question is sent. */
    Question ask(int shard) {
        return new Question(shard, lease, nanoTime.getAsLong());
    }

    /**
     * Notes that the shard asked about is open.
     *
     * @param fence the number that came with the answer. It may have been read after the shard was looked at, so it is
     *     only certain that the shard was open after the number held before was read
     */
    void isOpen(Question question, long fence) {
        if (question.held != null) {
            openAfter.put(question.shard, question.held.fence);
        }
        lease = new Lease(fence, question.sent + LEASE_NANOS);
    }
}
