/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.demo;

import java.util.List;
import java.util.Optional;
import org.shardflake.IdLayout;

/**
 * The results of the demo's checks.
 *
 * @param rows rows read
 * @param rowsMissing rows written minus rows read
 * @param duplicates ids that a table has twice, in any shards
 * @param wrongShard ids whose shard bits disagree with their uid or with the schema they are in
 * @param notIncreasing ids not above the one inserted before them in the same table and shard
 * @param largestDifferenceMillis between an id's time and its row's created_at, which is read right after it
 * @param idsPerSecond rows read divided by the time it took to write them
 * @param samples some of the ids
 * @param move the result of moving shards, if that was done
 */
public record DemoReport(
        IdLayout layout,
        int shards,
        List<ServerRows> servers,
        long rows,
        long rowsMissing,
        long duplicates,
        long wrongShard,
        long notIncreasing,
        long largestDifferenceMillis,
        long idsPerSecond,
        List<Long> samples,
        Optional<DemoMove.Result> move) {

    /**
     * The allowed difference between an id's time and created_at: an id is drawn within 4 ms of the clock, but a busy machine may take a while
     * from there.
     */
    private static final long ALLOWED_DIFFERENCE_MILLIS = 1000;

    /** The rows read from a server. */
    public record ServerRows(String name, int shards, long rows) {}

    /** Whether every check passes. */
    public boolean passed() {
        return movedWell()
                && rowsMissing == 0
                && duplicates == 0
                && wrongShard == 0
                && notIncreasing == 0
                && timesAgree();
    }

    /** Whether the times in ids are right. */
    public boolean timesAgree() {
        return largestDifferenceMillis < ALLOWED_DIFFERENCE_MILLIS;
    }

    /** Whether the move lost no row, and no writer met an error. */
    public boolean movedWell() {
        return move.map(result -> result.lost() == 0 && result.errors() == 0).orElse(true);
    }

    DemoReport with(DemoMove.Result result) {
        return new DemoReport(
                layout,
                shards,
                servers,
                rows,
                rowsMissing,
                duplicates,
                wrongShard,
                notIncreasing,
                largestDifferenceMillis,
                idsPerSecond,
                samples,
                Optional.of(result));
    }
}
