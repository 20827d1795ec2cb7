/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.router.RouterListener.RetryReason;

/** The tries of one piece of work: whether there is another one, and the wait before it. For one thread. */
final class Retry {

    private static final long FIRST_PAUSE_MILLIS = 2;
    private static final long LONGEST_PAUSE_MILLIS = 100;

    private final RetryPolicy policy;
    private final MapSource maps;
    private final RouterListener listener;
    private final long start = System.nanoTime();
    private long pauseMillis = FIRST_PAUSE_MILLIS;
    private int tries = 1;
    private @Nullable ShardPlacement refused;

    Retry(RetryPolicy policy, MapSource maps, RouterListener listener) {
        this.policy = policy;
        this.maps = maps;
        this.listener = listener;
    }

    /**
     * Whether the work may be tried again now; waits before it says yes.
     *
     * @param tried where the work was tried
     * @param version the version of the map that placed it there
     * @param isGone asks the server whether the shard is not there any more, when a table was missing
     * @throws ShardFencedException if the server refused it to the end
     */
    boolean again(Exception failure, ShardPlacement tried, long version, BooleanSupplier isGone) {
        if (failure instanceof PoolClosedException) {
            return mayTry();
        }
        return switch (SqlFailure.of(failure)) {
            case FENCED -> {
                againElsewhere(failure, tried, version, "takes no writes on");
                yield true;
            }
            case MISSING -> {
                // Most likely a table that was never there; only a changed map or a missing schema says otherwise.
                maps.refresh();
                if (!hasMoved(tried) && !isGone.getAsBoolean()) {
                    yield false;
                }
                againElsewhere(failure, tried, version, "is not on");
                yield true;
            }
            case LOST -> {
                if (!mayTry()) {
                    yield false;
                }
                listener.retried(tried.server(), RetryReason.CONNECTION_LOST);
                sleep(ThreadLocalRandom.current().nextLong(nextPause() + 1));
                yield true;
            }
            case SERIALIZATION -> {
                if (!policy.serializationFailures() || !mayTry()) {
                    yield false;
                }
                listener.retried(tried.server(), RetryReason.SERIALIZATION_FAILURE);
                sleep(ThreadLocalRandom.current().nextLong(nextPause() + 1));
                yield true;
            }
            case OTHER -> false;
        };
    }

    private void againElsewhere(Exception failure, ShardPlacement tried, long version, String how) {
        if (!mayTry()) {
            throw new ShardFencedException(how, tried, version, tries, waited(), failure);
        }
        listener.retried(tried.server(), RetryReason.SHARD_MOVED);
        awaitMove(tried, version);
    }

    /**
     * Whether a read over many shards may be tried again where some of them were not; else as {@link #again}.
     *
     * @param gone asks the server for one of the shards that is not there any more
     */
    boolean againRead(Exception failure, ShardMap map, Supplier<OptionalInt> gone) {
        if (failure instanceof PoolClosedException) {
            return mayTry();
        }
        switch (SqlFailure.of(failure)) {
            case MISSING -> {
                maps.refresh();
                if (maps.map().version() > map.version()) {
                    return mayTry();
                }
                OptionalInt shard = gone.get();
                shard.ifPresent(one -> againElsewhere(failure, map.placement(one), map.version(), "is not on"));
                return shard.isPresent();
            }
            case LOST -> {
                if (!mayTry()) {
                    return false;
                }
                sleep(ThreadLocalRandom.current().nextLong(nextPause() + 1));
                return true;
            }
            case FENCED, SERIALIZATION, OTHER -> {
                return false;
            }
        }
        return false;
    }

    private boolean mayTry() {
        boolean may = tries < policy.maxTries() && waited().compareTo(policy.deadline()) < 0;
        if (may) {
            tries++;
        }
        return may;
    }

    private Duration waited() {
        return Duration.ofNanos(System.nanoTime() - start);
    }

    private boolean hasMoved(ShardPlacement tried) {
        ShardPlacement now = maps.map().placement(tried.shard());
        return now.epoch() != tried.epoch() || !now.server().equals(tried.server());
    }

    /** Goes on at once when the shard has moved; else waits a little, since the fence may also be lifted without a move. */
    private void awaitMove(ShardPlacement tried, long version) {
        if (!tried.equals(refused)) {
            // A server that the map has just named opens the shard within a moment.
            refused = tried;
            pauseMillis = FIRST_PAUSE_MILLIS;
        }
        if (hasMoved(tried)) {
            return;
        }
        maps.refresh();
        if (hasMoved(tried)) {
            return;
        }
        try {
            maps.awaitNewerThan(Math.max(version, maps.map().version()), Duration.ofMillis(nextPause()));
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private long nextPause() {
        long pause = pauseMillis;
        pauseMillis = Math.min(2 * pauseMillis, LONGEST_PAUSE_MILLIS);
        return pause;
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw interrupted(e);
        }
    }

    private static RuntimeException interrupted(InterruptedException e) {
        return new InterruptedWorkException("another try", e);
    }
}
