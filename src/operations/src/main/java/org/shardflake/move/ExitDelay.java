/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.io.Serial;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Delays Ctrl-C until closed, for short work that must not stop halfway, such as when a shard would stay closed. */
final class ExitDelay implements AutoCloseable {

    private static final long LONGEST_SECONDS = 10;

    private final CountDownLatch over = new CountDownLatch(1);
    private final Thread hook = new Thread(this::await, "shardflake, before exit");

    /** Thrown when the process is ending; the work may or may not have been done. */
    static final class EndingException extends IllegalStateException {

        @Serial
        private static final long serialVersionUID = 1L;

        EndingException(IllegalStateException cause) {
            super("the process is ending", cause);
        }
    }

    /**
     * Begins the delay.
     *
     * @throws EndingException if the process is ending and nothing new may begin
     */
    ExitDelay() {
        try {
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IllegalStateException e) {
            throw new EndingException(e);
        }
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
