/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.Installation;
import org.shardflake.benchmarks.installation.ShardflakeCommand.Result;

/**
 * A move from beginning to end, verification included.
 *
 * @param seconds that the command took, all in all
 * @param pauses of its cutovers in milliseconds, as the command says them
 */
record WholeMove(double seconds, List<Double> pauses) {

    /** PostgreSQL 15 starts a subscription's worker this long after another one's start: wal_retrieve_retry_interval. */
    private static final int SECONDS_BETWEEN_WORKERS = 5;

    /**
     * Moves shards by {@code move run}.
     *
     * @throws IllegalStateException if the command fails, or a shard is not on the target then
     */
    static WholeMove run(Installation installation, ShardSet shards, String target)
            throws SQLException, IOException, InterruptedException {
        settle(installation);
        Result result = installation.command().run("move", "run", "--shards", shards.toString(), "--to", target);
        ShardSet there = installation.shardsOf(target);
        if (!shards.stream().allMatch(there::contains)) {
            throw new IllegalStateException("of shards %s only %s are on %s".formatted(shards, there, target));
        }
        return of(result);
    }

    private static WholeMove of(Result result) {
        List<Double> pauses = new ArrayList<>();
        for (String message : result.messages()) {
            CutoverLine.parse(message).ifPresent(line -> pauses.add(line.pauseMillis()));
        }
        return new WholeMove(result.seconds(), pauses);
    }

    /** Lets no move pay for the one before. */
    private static void settle(Installation installation) throws SQLException, InterruptedException {
        installation.checkpoint();
        if (installation.servers().stream().anyMatch(server -> server.majorVersion() < 16)) {
            TimeUnit.SECONDS.sleep(SECONDS_BETWEEN_WORKERS + 1);
        }
    }
}
