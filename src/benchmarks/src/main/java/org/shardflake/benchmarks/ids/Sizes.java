/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

/**
 * How much is measured.
 *
 * @param rounds of everything that is timed
 * @param ids made one after the other to see what one takes
 * @param rows of the bulk insert
 * @param drawn ids that 16 sessions make to see whether some are the same
 * @param tickets what of each stands for the ticket servers, which take a commit for every id
 * @param millis of a turn of single-row inserts, and of the time before a clock misbehaves
 */
public record Sizes(int rounds, int ids, int rows, int drawn, int tickets, int millis) {

    /** The bulk insert is followed by another, smaller by this factor. */
    static final int LATER = 100;

    /** Refuses what cannot be measured. */
    public Sizes {
        if (rounds < 1 || ids < 1 || rows < LATER || drawn < Duplicates.SESSIONS || tickets < LATER || millis < 1) {
            throw new IllegalArgumentException("too small: rounds %d, ids %d, rows %d, drawn %d, tickets %d, millis %d"
                    .formatted(rounds, ids, rows, drawn, tickets, millis));
        }
    }

    /** The sizes of a whole run, unless system properties such as {@code ids.rows} say otherwise. */
    public static Sizes fromProperties() {
        return new Sizes(
                Integer.getInteger("ids.rounds", 5),
                Integer.getInteger("ids.ids", 200_000),
                Integer.getInteger("ids.rows", 1_000_000),
                Integer.getInteger("ids.drawn", 3_200_000),
                Integer.getInteger("ids.tickets", 16_000),
                Integer.getInteger("ids.millis", 1000));
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
        return new Sizes(rounds, part(ids), part(rows), drawn, tickets, millis);
    }

    private static int part(int all) {
        return Math.max(LATER, all / 5);
    }

    /** The same with no more than the ticket servers can do. */
    Sizes forTickets() {
        return new Sizes(
                rounds,
                Math.min(ids, part(tickets)),
                Math.min(rows, part(tickets)),
                Math.min(drawn, tickets),
                tickets,
                millis);
    }
}
