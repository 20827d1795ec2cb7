/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;

/**
 * The settings of {@link ShardRouter#scatter}. Immutable.
 *
 * <p>By default it runs 8 reads at a time, for 30 seconds at most, and fails as soon as one shard fails.
 */
public final class Scatter {

    private static final int DEFAULT_PARALLELISM = 8;

    private final @Nullable ShardSet shards;
    private final int parallelism;
    private final Duration deadline;
    private final boolean collectsFailures;

    private Scatter(@Nullable ShardSet shards, int parallelism, Duration deadline, boolean collectsFailures) {
        this.shards = shards;
        this.parallelism = parallelism;
        this.deadline = deadline;
        this.collectsFailures = collectsFailures;
    }

    /** Reads all shards. */
    public static Scatter allShards() {
        return new Scatter(null, DEFAULT_PARALLELISM, Duration.ofSeconds(30), false);
    }

    /** Reads some shards. */
    public static Scatter over(ShardSet shards) {
        return new Scatter(shards, DEFAULT_PARALLELISM, Duration.ofSeconds(30), false);
    }

    /** Sets how many shards are read at a time, over all servers; each read uses a connection. */
    public Scatter parallelism(int reads) {
        if (reads < 1) {
            throw new IllegalArgumentException("parallelism is %s, allowed: 1 or more".formatted(reads));
        }
        return new Scatter(shards, reads, deadline, collectsFailures);
    }

    /** Sets the time limit: shards without a result by then count as failed, and running reads are cancelled. */
    public Scatter deadline(Duration duration) {
        return new Scatter(shards, parallelism, duration, collectsFailures);
    }

    /** Continues when a shard fails, with a {@link ShardResult.Failure} among the results. */
    public Scatter collectFailures() {
        return new Scatter(shards, parallelism, deadline, true);
    }

    @Nullable
    ShardSet shards() {
        return shards;
    }

    int parallelism() {
        return parallelism;
    }

    Duration deadline() {
        return deadline;
    }

    boolean collectsFailures() {
        return collectsFailures;
    }
}
