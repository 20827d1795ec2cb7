/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The transaction each thread is in, so that another one begun there can join it or be refused.
 *
 * <p>Entries live as long as the work does. Unlike those of a {@code ThreadLocal}, they cannot be inherited or left
 * behind.
 */
final class OpenTransactions {

    private final Map<Thread, ShardTransaction> byThread = new ConcurrentHashMap<>();

    /** The transaction that the calling thread is in. */
    @Nullable
    ShardTransaction current() {
        return byThread.get(Thread.currentThread());
    }

    void enter(ShardTransaction tx) {
        byThread.put(Thread.currentThread(), tx);
    }

    void leave() {
        byThread.remove(Thread.currentThread());
    }
}
