/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.Random;

/**
 * Everything that one server has goes to others, while the application goes on writing to it.
 *
 * @param bytes of the server
 * @param bytesPerSecond that moves may carry off it
 * @param writesPerSecond bytes that logical replication has to carry after the copy
 */
record Drain(double bytes, double bytesPerSecond, double writesPerSecond) {

    Drain {
        if (!(writesPerSecond < bytesPerSecond)) {
            throw new IllegalArgumentException("%s bytes are written and %s carried off in a second: it never ends"
                    .formatted(writesPerSecond, bytesPerSecond));
        }
    }

    /** Until the targets have caught up, in seconds. */
    double seconds() {
        return bytes / (bytesPerSecond - writesPerSecond);
    }

    /** Write-ahead log of what was written while the copy ran, which the source has to keep, in bytes. */
    double kept() {
        return writesPerSecond * bytes / bytesPerSecond;
    }

    /**
     * The same second by second, where writes come in bursts: a tenth of the seconds, drawn at random, has all of them.
     */
    double simulated(Random random) {
        double left = bytes;
        double seconds = 0;
        while (left > 0) {
            double written = random.nextInt(10) == 0 ? 10 * writesPerSecond : 0;
            double sent = bytesPerSecond - written;
            if (left <= sent) {
                return seconds + left / sent;
            }
            left -= sent;
            seconds++;
        }
        return seconds;
    }
}
