/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/**
 * The tables of a move that this process has found equal at the latest cutover of their shard, and whether the source's copies still have
 * the same rows.
 *
 * <p>A row names the transaction that wrote it ({@code xmin}), whoever that was, and an update writes a new one. So a copy with as many
 * rows as it had, none of them by a later transaction, has the same rows. A source that failed over or crashed may give the same numbers
 * to other transactions, and a target that did may lack rows that were compared, so neither may have started since. Thread-safe.
 */
final class ComparedCopies {

    /** PostgreSQL resets its statistics when it recovers from a crash, also if the postmaster goes on. */
    private static final String STARTED =
            "SELECT concat_ws(' ', pg_postmaster_start_time(), stats_reset) FROM pg_stat_wal";

    private static final String FIRST_UNSEEN = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint";
    private static final String END = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
    private static final String OID = "SELECT ?::regclass::oid::bigint";

    /** A row has the lower 32 bits of a transaction's number. */
    private static final long NUMBERS = 1L << 32;

    private static final String IS_LATER = "((xmin::text::bigint - ?) & 4294967295) < ?";

    /** A column that was added or changed may have changed rows as they are read. */
    private static final String UNWRITTEN = """
            SELECT ?::regclass::oid::bigint = ? AND count(*) = ? AND NOT COALESCE(bool_or(COALESCE(%1$s, true)), false)
                   AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = ? AND %1$s)
              FROM %2$s
            """;

    private final long move;
    private final Map<Integer, Attempt> latest = new ConcurrentHashMap<>();

    /**
     * What two sessions see, of which the first is on the source.
     *
     * @param firstUnseen all transactions before this one have ended, and are seen if they were committed
     * @param end no transaction from this one on is seen
     * @param source what changes when the source starts
     * @param target what changes when the target starts
     */
    record Moment(long firstUnseen, long end, String source, String target) {

        static Moment read(Connection source, Connection target) throws SQLException {
            return new Moment(
                    Sql.number(source, FIRST_UNSEEN),
                    Sql.number(source, END),
                    Sql.text(source, STARTED),
                    Sql.text(target, STARTED));
        }

        boolean isOfTheSameServers(Moment other) {
            return source.equals(other.source) && target.equals(other.target);
        }
    }

    private record Equal(long oid, long rows, Moment then) {}

    /** An attempt at a cutover, and what of its shard is found equal as of then. */
    static final class Attempt {

        private final Map<String, Equal> tables = new ConcurrentHashMap<>();

        /**
         * Compares tables, as of the cutover.
         *
         * @param sessions on the source first
         * @param leader the session on the server that had the shard
         * @param first called when a table is found to differ, before its rows are looked for
         */
        List<TableDifference> compare(
                List<String> its,
                ComparisonSessions sessions,
                Connection leader,
                TableDifference.Names names,
                TableDifference.First first)
                throws SQLException {
            Connection source = sessions.first();
            Connection follower = leader == source ? sessions.second() : source;
            Moment now = Moment.read(source, sessions.second());
            List<TableDifference> differences = new ArrayList<>();
            for (String table : its) {
                long oid = Sql.number(source, OID, table);
                Rows rows = Rows.of(leader, follower, table);
                TableDifference.find(
                                leader,
                                follower,
                                rows,
                                names,
                                count -> tables.put(table, new Equal(oid, count, now)),
                                first)
                        .ifPresent(differences::add);
            }
            return differences;
        }
    }

    ComparedCopies(long move) {
        this.move = move;
    }

    long move() {
        return move;
    }

    /** A new attempt, before its shard is fenced; forgets what was found at an earlier one. */
    Attempt begin(int shard) {
        Attempt attempt = new Attempt();
        latest.put(shard, attempt);
        return attempt;
    }

    /**
     * Whether a copy has the rows with which it was found equal; not if that is not known.
     *
     * @param copy to the source
     * @param now what this session and one on the target see
     */
    boolean isUnwritten(int shard, String table, Connection copy, Moment now) throws SQLException {
        Attempt attempt = latest.get(shard);
        if (attempt == null) {
            return false;
        }
        Equal equal = attempt.tables.get(table);
        if (equal == null) {
            return false;
        }
        long first = equal.then.firstUnseen;
        long later = now.end - first;
        return now.isOfTheSameServers(equal.then)
                && later >= 0
                && later < NUMBERS
                && Sql.isTrue(
                        copy,
                        UNWRITTEN.formatted(IS_LATER, table),
                        table,
                        equal.oid,
                        equal.rows,
                        first,
                        later,
                        equal.oid,
                        first,
                        later);
    }
}
