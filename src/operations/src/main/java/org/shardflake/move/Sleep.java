/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.concurrent.locks.LockSupport;

/** A wait that ends the work if the thread is interrupted. */
final class Sleep {

    private Sleep() {}

    static void millis(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    /** For waits under a millisecond, during which an interruption can wait too. */
    static void micros(long micros) {
        LockSupport.parkNanos(micros * 1000);
        if (Thread.interrupted()) {
            throw interrupted();
        }
    }

    private static MoveException interrupted() {
        Thread.currentThread().interrupt();
        return new MoveException(
                "interrupted; the move is as the catalog says, and the same command goes on from there");
    }
}
