/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The shards that are known to be open on one server, so that few commits have to ask. Thread-safe.
 *
 * <p>Each answer comes with the number of the server's latest fence. Who holds a lease knows that this still is the latest one: a
 * fence stops its shard, then takes a number that no fence has had, and is up no sooner than all leases of earlier numbers have
 * ended. So a shard that was open after a number had been read is open while there is a lease of that number. Nothing has to be
 * forgotten when a connection or the server is lost, since no number comes back.
 */
final class OpenShards {

    /** Less than the 2 ms that a fence waits, see {@code fence_tables.sql}, as clocks do not run alike. */
    private static final long LEASE_NANOS = 1_500_000;

    private final LongSupplier nanoTime;
    private final Map<Integer, Long> openAfter = new ConcurrentHashMap<>();
    private volatile @Nullable Lease lease;

    /**
     * @param fence the number of the server's latest fence
     * @param end until when that holds, in nanoseconds of the clock given
     */
    private record Lease(long fence, long end) {}

    /** A question, from before it is sent. */
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

    /** Whether a shard is open now, as far as is known without asking. */
    boolean isKnownOpen(int shard) {
        Lease held = lease;
        Long after = openAfter.get(shard);
        return held != null && after != null && after == held.fence && nanoTime.getAsLong() - held.end < 0;
    }

    /** To be called before the question is sent. */
    Question ask(int shard) {
        return new Question(shard, lease, nanoTime.getAsLong());
    }

    /**
     * Notes that the shard asked about is open.
     *
     * @param fence the number that came with the answer. It may have been read after a look at the shard, so what is known of
     *     the shard is that it was open after the number held before was read
     */
    void isOpen(Question question, long fence) {
        if (question.held != null) {
            openAfter.put(question.shard, question.held.fence);
        }
        lease = new Lease(fence, question.sent + LEASE_NANOS);
    }
}
