/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.parallel;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.MoveShard;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.MoveStep;
import org.shardflake.move.ShardPhase;

/**
 * The progress of several moves, and the time that the rest will take at the pace so far. Their work is counted in bytes: those that are
 * copied, a part of them for each comparison, and what a cutover and a move take beside that, as measured. Thread-safe.
 */
public final class MoveEstimate {

    /** The time that comparing a byte in both copies takes, relative to copying it. */
    private static final double COMPARED = 0.4;

    /** The fixed cost of a shard, in bytes that could be copied in the same time. */
    private static final long SHARD = 4 << 20;

    /** The fixed cost of a move, in bytes that could be copied in the same time. */
    private static final long MOVE = 64 << 20;

    /** The smallest part of the work from which the rest can be estimated. */
    private static final double LEAST_PART = 0.05;

    private final MoveSettings settings;
    private final List<Part> parts = new ArrayList<>();
    private long begun;
    private boolean hasBegun;

    /** @param settings whose limits are reckoned with */
    public MoveEstimate(MoveSettings settings) {
        this.settings = settings;
    }

    /** Adds a planned move of about this many bytes. */
    public synchronized Part add(MoveRequest move, long bytes) {
        Part part = new Part(move.shards().size(), bytes);
        parts.add(part);
        return part;
    }

    /**
     * The work done so far.
     *
     * @param ended moves
     * @param running moves that have begun and not ended
     */
    public record State(
            int moves,
            int ended,
            int running,
            long bytes,
            long copied,
            int shards,
            int cutOver,
            Optional<Duration> left) {}

    /** The state at a time of {@link System#nanoTime}. */
    public synchronized State state(long nanoTime) {
        int ended = 0;
        int running = 0;
        long bytes = 0;
        long copied = 0;
        int shards = 0;
        int cutOver = 0;
        for (Part part : parts) {
            ended += part.isEnded ? 1 : 0;
            running += part.hasBegun && !part.isEnded ? 1 : 0;
            bytes += part.bytes();
            copied += part.copiedBytes();
            shards += part.shards;
            cutOver += part.cutOver();
        }
        return new State(
                parts.size(),
                ended,
                running,
                bytes,
                copied,
                shards,
                cutOver,
                left(nanoTime, bytes - copied, shards - cutOver));
    }

    private Optional<Duration> left(long nanoTime, long bytesLeft, int shardsLeft) {
        double all = 0;
        double before = 0;
        double done = 0;
        for (Part part : parts) {
            all += part.all();
            before += part.before;
            done += part.done();
        }
        double since = done - before;
        if (!hasBegun || since < LEAST_PART * (all - before) || nanoTime <= begun) {
            return Optional.empty();
        }
        double seconds = (nanoTime - begun) / 1e9 * (all - done) / since;
        if (settings.bytesPerSecond() > 0) {
            seconds = Math.max(seconds, bytesLeft / (double) settings.bytesPerSecond());
        }
        if (settings.pausesPerMinute() > 0) {
            seconds = Math.max(seconds, shardsLeft * 60.0 / settings.pausesPerMinute());
        }
        return Optional.of(Duration.ofMillis(Math.round(seconds * 1000)));
    }

    /** One of the moves, which reports its progress. */
    public final class Part {

        private final int shards;
        private final long expected;
        private final Map<Integer, Long> sizes = new HashMap<>();
        private final Map<Integer, Long> copied = new HashMap<>();
        private final Set<Integer> switched = new HashSet<>();
        private final Set<Integer> compared = new HashSet<>();
        private double before;
        private int stages;
        private boolean hasBegun;
        private boolean isComparedAgain;
        private boolean isEnded;

        private Part(int shards, long expected) {
            this.shards = shards;
            this.expected = expected;
        }

        /** Starts measuring a move, or resumes. */
        public void begun(MoveStatus status, long nanoTime) {
            synchronized (MoveEstimate.this) {
                if (!MoveEstimate.this.hasBegun) {
                    MoveEstimate.this.hasBegun = true;
                    begun = nanoTime;
                }
                hasBegun = true;
                sizes.putAll(status.bytes());
                for (MoveShard shard : status.move().shards()) {
                    if (shard.phase() != ShardPhase.WAITING) {
                        copied.put(shard.shard(), sizes.getOrDefault(shard.shard(), 0L));
                    }
                    if (shard.phase() == ShardPhase.SWITCHED) {
                        switched.add(shard.shard());
                        compared.add(shard.shard());
                    }
                }
                stages = switch (status.move().phase()) {
                    case PREPARING, COPYING -> 0;
                    case CATCHING_UP -> 1;
                    case FOLLOWING, COMPLETING, CANCELLING -> 2;
                };
                before = done();
            }
        }

        /** Called when a step has been completed. */
        public void reached(MoveStep step) {
            synchronized (MoveEstimate.this) {
                switch (step) {
                    case SLOT_CREATED -> {
                        stages = 1;
                        copied.clear(); // An interrupted copy begins again.
                    }
                    case REHEARSED -> stages = 2;
                    case COMPARED_AGAIN -> isComparedAgain = true;
                    default -> {
                        // Of no weight.
                    }
                }
            }
        }

        public void copied(int shard, long bytes) {
            synchronized (MoveEstimate.this) {
                // The tables may have grown since their sizes were read.
                copied.merge(shard, bytes, (a, b) -> Math.min(a + b, sizes.getOrDefault(shard, 0L)));
            }
        }

        public void shardCopied(int shard) {
            synchronized (MoveEstimate.this) {
                copied.put(shard, sizes.getOrDefault(shard, 0L));
            }
        }

        public void cutOver(int shard) {
            synchronized (MoveEstimate.this) {
                switched.add(shard);
            }
        }

        public void compared(int shard) {
            synchronized (MoveEstimate.this) {
                compared.add(shard);
            }
        }

        public void ended() {
            synchronized (MoveEstimate.this) {
                isEnded = true;
            }
        }

        private long bytes() {
            return sizes.isEmpty()
                    ? expected
                    : sizes.values().stream().mapToLong(Long::longValue).sum();
        }

        private long copiedBytes() {
            return isEnded
                    ? bytes()
                    : copied.values().stream().mapToLong(Long::longValue).sum();
        }

        private int cutOver() {
            return isEnded ? shards : switched.size();
        }

        private double all() {
            return bytes() * (1 + 2 * COMPARED) + (double) shards * SHARD + MOVE;
        }

        private double done() {
            if (isEnded) {
                return all();
            }
            double comparedBytes = compared.stream()
                    .mapToLong(shard -> sizes.getOrDefault(shard, 0L))
                    .sum();
            return copiedBytes()
                    + COMPARED * comparedBytes
                    + (isComparedAgain ? COMPARED * bytes() : 0)
                    + (double) switched.size() * SHARD
                    + stages * MOVE / 2.0;
        }
    }
}
