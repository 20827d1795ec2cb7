/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.util.concurrent.locks.LockSupport;
import org.shardflake.move.exception.MoveException;

/** Waits so that an interrupt of the thread ends the work. */
public final class Sleep {

    private Sleep() {}

    public static void millis(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    /** Sleeps for less than a millisecond, so that an interrupt can wait. */
    public static void micros(long micros) {
        LockSupport.parkNanos(micros * 1000);
        if (Thread.interrupted()) {
            throw interrupted();
        }
    }

    private static MoveException interrupted() {
        Thread.currentThread().interrupt();
        return new MoveException(
                "interrupted; the catalog has the state of the move, and the same command continues from there");
    }
}
