/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Keeps track of the transaction that each thread is in, so that a nested one can join it or be refused.
 *
 * <p>Entries live as long as the work does. Unlike those of a {@code ThreadLocal}, they cannot be inherited or left
 * behind.
 */
final class OpenTransactions {

    private final Map<Thread, ShardTransaction> byThread = new ConcurrentHashMap<>();

    /** The calling thread's current transaction. */
    @Nullable
    ShardTransaction current() {
        return byThread.get(Thread.currentThread());
    }

    /**
     * Makes a transaction the calling thread's current one.
     *
     * @param tx null for none
     * @return the one it was in before
     */
    @Nullable
    ShardTransaction enter(@Nullable ShardTransaction tx) {
        return tx == null ? byThread.remove(Thread.currentThread()) : byThread.put(Thread.currentThread(), tx);
    }

    /** Replaces a transaction that has ended with another one, unless the ended one is suspended. */
    void replace(ShardTransaction ended, @Nullable ShardTransaction tx) {
        if (current() == ended) {
            enter(tx);
        }
    }
}
