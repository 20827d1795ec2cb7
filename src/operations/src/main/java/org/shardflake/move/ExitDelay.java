/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Delays Ctrl-C until closed, for short work that must not be left halfway: nobody would reopen a shard. */
final class ExitDelay implements AutoCloseable {

    private static final long LONGEST_SECONDS = 10;

    private final CountDownLatch over = new CountDownLatch(1);
    private final Thread hook = new Thread(this::await, "shardflake, before exit");

    /**
     * Begins the delay.
     *
     * @throws IllegalStateException if the process is ending and nothing new may begin
     */
    ExitDelay() {
        Runtime.getRuntime().addShutdownHook(hook);
    }

    private void await() {
        try {
            if (!over.await(LONGEST_SECONDS, TimeUnit.SECONDS)) {
                return; // The rest is settled when the move is next taken up.
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        over.countDown();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The process is ending, which is allowed now.
        }
    }
}
