/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Lets Ctrl-C wait, until it is closed, for what must not be left halfway and is over soon: nobody would open a shard again. */
final class ExitDelay implements AutoCloseable {

    private static final long LONGEST_SECONDS = 10;

    private final CountDownLatch over = new CountDownLatch(1);
    private final Thread hook = new Thread(this::await, "shardflake, before exit");

    /**
     * Begins to let it wait.
     *
     * @throws IllegalStateException if the process is ending, so that nothing more is begun
     */
    ExitDelay() {
        Runtime.getRuntime().addShutdownHook(hook);
    }

    private void await() {
        try {
            if (!over.await(LONGEST_SECONDS, TimeUnit.SECONDS)) {
                return; // What is left is settled by whoever takes the move up.
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
            // The process is ending, which it may do now.
        }
    }
}
