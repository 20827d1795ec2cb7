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

    /** The default settings: 2 jobs, parts of 1 GiB, no limits, 10 s, 90 ms, 30 ms, 10 minutes, and verified. */
    public static final MoveSettings DEFAULT = builder().build();

    public MoveSettings {
        requireAtLeast(1, "jobs", jobs);
        requireAtLeast(1, "partSize", partSize);
        requireAtLeast(0, "bytesPerSecond", bytesPerSecond);
        requireAtLeast(0, "pausesPerMinute", pausesPerMinute);
        if (lockTimeout.compareTo(pause) >= 0 || lockTimeout.isNegative() || lockTimeout.isZero()) {
            throw new IllegalArgumentException("a lock timeout of %s ms does not leave time in a pause of %s ms"
                    .formatted(lockTimeout.toMillis(), pause.toMillis()));
        }
    }

    private static void requireAtLeast(long least, String name, long value) {
        if (value < least) {
            throw new IllegalArgumentException("%s is %s; it must be at least %s".formatted(name, value, least));
        }
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Builds settings; those that are not set are as in {@link #DEFAULT}. Not thread-safe. */
    public static final class Builder {

        private int jobs = 2;
        private long partSize = 1L << 30;
        private long bytesPerSecond;
        private int pausesPerMinute;
        private Duration maxLag = Duration.ofSeconds(10);
        private Duration pause = Duration.ofMillis(90);
        private Duration patience = Duration.ofMinutes(10);
        private boolean verify = true;

        private Builder() {}

        public Builder jobs(int jobs) {
            this.jobs = jobs;
            return this;
        }

        public Builder partSize(long bytes) {
            this.partSize = bytes;
            return this;
        }

        public Builder bytesPerSecond(long bytesPerSecond) {
            this.bytesPerSecond = bytesPerSecond;
            return this;
        }

        public Builder pausesPerMinute(int pausesPerMinute) {
            this.pausesPerMinute = pausesPerMinute;
            return this;
        }

        public Builder maxLag(Duration maxLag) {
            this.maxLag = maxLag;
            return this;
        }

        /** Sets the longest write pause; the fence waits for a third of it. */
        public Builder pause(Duration pause) {
            this.pause = pause;
            return this;
        }

        public Builder patience(Duration patience) {
            this.patience = patience;
            return this;
        }

        public Builder verify(boolean verify) {
            this.verify = verify;
            return this;
        }

        /**
         * Builds the settings.
         *
         * @throws IllegalArgumentException if no move can have them
         */
        public MoveSettings build() {
            return new MoveSettings(
                    jobs,
                    partSize,
                    bytesPerSecond,
                    pausesPerMinute,
                    maxLag,
                    pause,
                    pause.dividedBy(3),
                    patience,
                    verify);
        }
    }
}
