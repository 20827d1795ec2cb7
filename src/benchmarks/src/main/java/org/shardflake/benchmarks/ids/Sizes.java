/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.util.stream.IntStream;

/**
 * How much is measured.
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
public record Sizes(
        int rounds, int fastRounds, int ids, int rows, int drawn, int tickets, int turnMillis, int clockMillis) {

    private static final Sizes WHOLE = new Sizes(5, 11, 200_000, 1_000_000, 3_200_000, 16_000, 500, 1000);

    /** The bulk insert is followed by another, smaller by this factor. */
    static final int LATER = 100;

    /** Refuses what cannot be measured. */
    public Sizes {
        int least = IntStream.of(rounds, fastRounds, ids, turnMillis, clockMillis)
                .min()
                .orElseThrow();
        if (least < 1 || rows < LATER || tickets < LATER || drawn < Duplicates.SESSIONS) {
            throw new IllegalArgumentException(
                    "too small: rows and tickets have to be %d at least, drawn %d, the others 1: rounds %d, fastRounds %d, ids %d, rows %d, drawn %d, tickets %d, turn %d, clock %d"
                            .formatted(
                                    LATER,
                                    Duplicates.SESSIONS,
                                    rounds,
                                    fastRounds,
                                    ids,
                                    rows,
                                    drawn,
                                    tickets,
                                    turnMillis,
                                    clockMillis));
        }
    }

    /** Whether it is less than a whole run, so that figures mean little. */
    boolean isShort() {
        return rounds < WHOLE.rounds
                || fastRounds < WHOLE.fastRounds
                || ids < WHOLE.ids
                || rows < WHOLE.rows
                || drawn < WHOLE.drawn
                || tickets < WHOLE.tickets
                || turnMillis < WHOLE.turnMillis
                || clockMillis < WHOLE.clockMillis;
    }

    /** The sizes of a whole run, unless system properties such as {@code ids.rows} say otherwise. */
    public static Sizes fromProperties() {
        return new Sizes(
                Integer.getInteger("ids.rounds", WHOLE.rounds),
                Integer.getInteger("ids.fastRounds", WHOLE.fastRounds),
                Integer.getInteger("ids.ids", WHOLE.ids),
                Integer.getInteger("ids.rows", WHOLE.rows),
                Integer.getInteger("ids.drawn", WHOLE.drawn),
                Integer.getInteger("ids.tickets", WHOLE.tickets),
                Integer.getInteger("ids.turn", WHOLE.turnMillis),
                Integer.getInteger("ids.clock", WHOLE.clockMillis));
    }

    /** The command that measures so much. */
    String command() {
        StringBuilder command =
                new StringBuilder("./mvnw -q -Dquick -DskipTests -pl src/benchmarks -am verify -Dbenchmark=IdSchemes");
        System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith("ids.") && !name.equals("ids.faketime")) // a path of this machine
                .sorted()
                .forEach(name -> command.append(" -D").append(name).append('=').append(System.getProperty(name)));
        return command.toString();
    }

    /** The same with less where one generator can make 64 ids in a millisecond and no more. */
    Sizes forBoundedPace() {
        return new Sizes(rounds, fastRounds, part(ids), part(rows), drawn, tickets, turnMillis, clockMillis);
    }

    private static int part(int all) {
        return Math.max(LATER, all / 5);
    }

    /** The same with no more than the ticket servers can do. */
    Sizes forTickets() {
        return new Sizes(
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
