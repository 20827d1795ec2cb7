/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.shardflake.jdbc.Sql;

/**
 * The tables of a move that this process has found equal at their cutover, and whether the source's copy of one still has just those rows.
 *
 * <p>A row names the transaction that wrote it ({@code xmin}), whoever that was, and an update writes a new one. So a copy with as many
 * rows as it had, none of them by a later transaction, has been written to by nobody. A source that failed over gives the same
 * numbers to other transactions, and a target that did may lack rows that were compared, so neither may have started since. Thread-safe.
 */
final class ComparedCopies {

    private static final String STARTED = "SELECT pg_postmaster_start_time()::text";

    private static final String NEXT = "SELECT pg_snapshot_xmin(pg_current_snapshot())::xid::text::bigint";

    /**
     * Numbers of transactions are of 32 bits and go round: half of them are before another one. {@code age} would say so, too, but keeps
     * PostgreSQL from reading a table in several processes.
     */
    private static final String IS_BEFORE = "((xmin::text::bigint - ?) & 4294967295) >= 2147483648";

    /** A column that was added or changed may have changed rows as they are read. */
    private static final String UNWRITTEN = """
            SELECT count(*) = ? AND COALESCE(bool_and(%1$s), true)
                   AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = ?::regclass AND NOT (%1$s))
              FROM %2$s
            """;

    private final long move;
    private final Map<String, Equal> tables = new ConcurrentHashMap<>();

    /** When the servers of two sessions were started. */
    record Started(String source, String target) {

        static Started read(Connection source, Connection target) throws SQLException {
            return new Started(Sql.text(source, STARTED), Sql.text(target, STARTED));
        }
    }

    /**
     * What the sessions of a comparison see.
     *
     * @param next the transaction on the source before which all have ended, and are seen if they were committed
     */
    record Moment(long next, Started started) {

        static Moment read(Connection source, Connection target) throws SQLException {
            return new Moment(Sql.number(source, NEXT), Started.read(source, target));
        }
    }

    private record Equal(Moment moment, long rows) {}

    ComparedCopies(long move) {
        this.move = move;
    }

    long move() {
        return move;
    }

    /** Notes that a table has the same rows on both servers. */
    void found(String table, Moment moment, long rows) {
        tables.put(table, new Equal(moment, rows));
    }

    /**
     * Whether a copy has the rows that it had when it was found equal; not if that is not known.
     *
     * @param copy to the source, in a transaction that sees what to look at
     * @param now of this session's server, and of the target
     */
    boolean isUnwritten(String table, Connection copy, Started now) throws SQLException {
        Equal then = tables.get(table);
        if (then == null || !then.moment.started.equals(now)) {
            return false;
        }
        long next = then.moment.next;
        return Sql.isTrue(copy, UNWRITTEN.formatted(IS_BEFORE, table), then.rows, next, table, next);
    }
}
