/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.adoptions;

import java.sql.SQLException;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.shardflake.benchmarks.installation.Writers;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;

/** Changes by a router, wherever their shards are, and how long the longest of each shard took. */
final class RoutedChanges implements Writers.Write {

    private final ShardRouter router;
    private final Change change;
    private final AtomicLongArray longest;
    private final AtomicLong failed = new AtomicLong();
    private volatile String firstFailure = "";

    /** One change in a transaction of its shard. Returns whether its rows were there. */
    @FunctionalInterface
    interface Change {
        boolean run(ShardTransaction tx, int shard, Random random) throws SQLException;
    }

    RoutedChanges(ShardRouter router, int shards, Change change) {
        this.router = router;
        this.change = change;
        this.longest = new AtomicLongArray(shards);
    }

    @Override
    public void to(int shard, Random random) {
        long seed = random.nextLong();
        long start = System.nanoTime();
        try {
            if (!router.write(shard, tx -> change.run(tx, shard, new Random(seed)))) {
                fail("rows of shard " + shard + " are missing");
            }
        } catch (SQLException | RuntimeException e) {
            fail(e.toString());
        }
        longest.accumulateAndGet(shard, System.nanoTime() - start, Math::max);
    }

    private void fail(String failure) {
        if (failed.incrementAndGet() == 1) {
            firstFailure = failure;
        }
    }

    /** Begins to measure the longest changes again. */
    void forget() {
        for (int shard = 0; shard < longest.length(); shard++) {
            longest.set(shard, 0);
        }
    }

    double longestMillis(int shard) {
        return longest.get(shard) / 1e6;
    }

    long failed() {
        return failed.get();
    }

    /** The first failure, or nothing. */
    String firstFailure() {
        return firstFailure;
    }
}
