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
import org.shardflake.router.exception.InterruptedWorkException;
import org.shardflake.router.exception.ShardFencedException;
import org.shardflake.router.internal.map.MapSource;
import org.shardflake.router.internal.pool.PoolClosedException;
import org.shardflake.router.internal.session.SqlFailure;

/** Decides whether a piece of work gets another attempt, and waits before it. For one thread. */
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
     * Whether the work may be tried again now; waits before it returns true.
     *
     * @param tried the placement where the work was tried
     * @param version the version of the map that placed it there
     * @param isGone asks the server, if a table was missing, whether the shard has gone
     * @throws ShardFencedException if the server refused the work to the end
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
            case OUTDATED -> mayTry();
            case NOT_ENTERED -> {
                if (!mayTry()) {
                    yield false;
                }
                listener.retried(tried.server(), RetryReason.SHARD_MOVED);
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
            case ELSEWHERE, OTHER -> false;
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
     * Whether a read over many shards may be tried again when some shards were missing; otherwise as {@link #again}.
     *
     * @param gone asks the server for one of the shards that has gone
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
            case OUTDATED -> {
                return mayTry();
            }
            case LOST -> {
                if (!mayTry()) {
                    return false;
                }
                sleep(ThreadLocalRandom.current().nextLong(nextPause() + 1));
                return true;
            }
            case FENCED, NOT_ENTERED, ELSEWHERE, SERIALIZATION, OTHER -> {
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

    /** Returns immediately if the shard has moved; otherwise waits a little, since the fence may also be lifted without a move. */
    private void awaitMove(ShardPlacement tried, long version) {
        if (!tried.equals(refused)) {
            // A server that the map has just named opens the shard shortly.
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
