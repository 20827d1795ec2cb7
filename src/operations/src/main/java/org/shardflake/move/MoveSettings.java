/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.time.Duration;

/**
 * Settings of a move.
 *
 * @param jobs how many shards, or parts of one, to copy at a time: 1 or more
 * @param partSize in bytes: a table of more than ten times that is copied in parts of about that or less, which are kept if the copy is interrupted
 * @param bytesPerSecond the maximum copy rate, of all moves that run at once, 0 for no limit
 * @param pausesPerMinute the most attempts at a cutover, in all moves that run at once, 0 for no limit
 * @param maxLag copying pauses while a standby of the target lags by more than this
 * @param pause the longest write pause of a cutover attempt; an attempt that would take longer gives up
 * @param lockTimeout how long the fence waits, with writers queued behind it, for transactions that have written
 * @param patience how long to retry cutover attempts and servers that do not answer
 * @param verify whether to compare copies as of the cutover; {@code complete} compares them in any case
 */
public record MoveSettings(
        int jobs,
        long partSize,
        long bytesPerSecond,
        int pausesPerMinute,
        Duration maxLag,
        Duration pause,
        Duration lockTimeout,
        Duration patience,
        boolean verify) {

    /** 2 jobs, parts of 1 GiB, no limits, 10 s, 90 ms, 30 ms, 10 minutes, and verified. */
    public static final MoveSettings DEFAULT = new MoveSettings(
            2,
            1L << 30,
            0,
            0,
            Duration.ofSeconds(10),
            Duration.ofMillis(90),
            Duration.ofMillis(30),
            Duration.ofMinutes(10),
            true);

    public MoveSettings {
        if (jobs < 1 || partSize < 1 || bytesPerSecond < 0 || pausesPerMinute < 0) {
            throw new IllegalArgumentException(
                    "jobs are %s, the size of a part %s, bytes per second %s, and pauses per minute %s; allowed are 1 or more of the first two, and 0 or more of the others"
                            .formatted(jobs, partSize, bytesPerSecond, pausesPerMinute));
        }
        if (lockTimeout.compareTo(pause) >= 0 || lockTimeout.isNegative() || lockTimeout.isZero()) {
            throw new IllegalArgumentException("a lock timeout of %s ms does not leave time in a pause of %s ms"
                    .formatted(lockTimeout.toMillis(), pause.toMillis()));
        }
    }
}
