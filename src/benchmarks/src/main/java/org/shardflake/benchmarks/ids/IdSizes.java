/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import org.shardflake.benchmarks.report.Sizing;

/**
 * The amounts to measure, from system properties {@code ids.*}.
 *
 * @param rounds of bulk inserts
 * @param fastRounds of what takes less time and varies more
 * @param ids made one after the other to see what one takes
 * @param rows of the bulk insert
 * @param drawn ids that 16 sessions make to see whether some are the same
 * @param tickets what of each stands for the ticket servers, which take a commit for every id
 * @param turnMillis of single-row inserts
 * @param clockMillis before a clock misbehaves, and after it has been mended
 */
record IdSizes(int rounds, int fastRounds, int ids, int rows, int drawn, int tickets, int turnMillis, int clockMillis) {

    /** The bulk insert is followed by another, smaller by this factor. */
    static final int LATER = 100;

    /**
     * The sizes of a whole run, unless system properties such as {@code ids.rows} say otherwise.
     *
     * @throws IllegalArgumentException if there is too little to measure
     */
    static IdSizes of(Sizing sizing) {
        return new IdSizes(
                sizing.number("rounds", 5),
                sizing.number("fastRounds", 11),
                sizing.number("ids", 200_000),
                sizing.number("rows", 1_000_000, LATER),
                sizing.number("drawn", 3_200_000, Duplicates.SESSIONS),
                sizing.number("tickets", 16_000, LATER),
                sizing.number("turn", 500),
                sizing.number("clock", 1000));
    }

    /** The same with less where one generator can make 64 ids in a millisecond and no more. */
    IdSizes forBoundedPace() {
        return new IdSizes(rounds, fastRounds, part(ids), part(rows), drawn, tickets, turnMillis, clockMillis);
    }

    private static int part(int all) {
        return Math.max(LATER, all / 5);
    }

    /** The same with no more than the ticket servers can do. */
    IdSizes forTickets() {
        return new IdSizes(
                rounds,
                fastRounds,
                Math.min(ids, part(tickets)),
                Math.min(rows, part(tickets)),
                Math.min(drawn, tickets),
                tickets,
                turnMillis,
                clockMillis);
    }
}
