/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.shardflake.jdbc.InParallel;
import org.shardflake.jdbc.Sql;

/**
 * The tables of a move that this process has found equal at the latest cutover of their shard; tells whether the source's copies still have the
 * same rows.
 *
 * <p>A row names the transaction that wrote it ({@code xmin}), whoever that was, and an update writes a new one. So a copy with as many
 * rows as it had, none of them by a later transaction, has the same rows. A source that failed over or crashed may give the same numbers
 * to other transactions, and a target that did may lack rows that were compared, so neither may have started since. Thread-safe.
 */
public final class EqualCopies {

    /** The start of the server's statistics, which PostgreSQL resets when it recovers from a crash, even if the postmaster survives. */
    private static final String STARTED =
            "SELECT concat_ws(' ', pg_postmaster_start_time(), stats_reset) FROM pg_stat_wal";

    /**
     * The limits of a snapshot: transactions before the first number have ended and are visible if committed; from the second on, none is
     * visible.
     */
    private static final String SEEN =
            "SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint, (%s) FROM pg_current_snapshot() s"
                    .formatted(STARTED);

    private static final String OID = "SELECT ?::regclass::oid::bigint";

    private static final String OIDS =
            "SELECT name, to_regclass(name)::oid::bigint FROM unnest(?) name WHERE to_regclass(name) IS NOT NULL";

    /** The largest distance at which 32-bit numbers still show which of two transactions came later. */
    private static final long COMPARABLE = 1L << 31;

    /** The number of possibly changed rows up to which rows are compared by their keys. */
    private static final long FEW = 20_000;

    private static final int AT_ONCE = 1_000;

    /** A condition that a row, or a column, was written by a transaction that the snapshot had not seen. */
    private static final String IS_LATER = "age(xmin) <= (SELECT age('%s'::xid8::xid))";

    /** Finds added or changed columns, which can change rows without writing them. */
    private static final String UNWRITTEN = """
            SELECT ?::regclass::oid::bigint = ? AND count(*) = ? AND NOT COALESCE(bool_or(%1$s), false)
                   AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = ? AND %1$s)
              FROM %2$s
            """;

    private static final String IS_SAME_TABLE =
            "SELECT ?::regclass::oid::bigint = ? AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = ? AND %s)";

    private final long move;
    private final Map<Integer, Attempt> latest = new ConcurrentHashMap<>();

    /**
     * The transactions that a session sees.
     *
     * @param firstUnseen all transactions before this one have ended, and are seen if they were committed
     * @param end no transaction from this one on is seen
     * @param started what changes when the server starts
     */
    private record Point(long firstUnseen, long end, String started) {

        static Point read(Connection connection) throws SQLException {
            return Sql.list(connection, SEEN, row -> new Point(row.getLong(1), row.getLong(2), row.getString(3)))
                    .get(0);
        }

        /** Whether transaction numbers show which rows were written since an earlier moment. */
        boolean isComparable(Point then) {
            return started.equals(then.started) && end >= then.firstUnseen && end - then.firstUnseen < COMPARABLE;
        }

        /** SQL for whether a row was written since this moment. */
        String isLater() {
            return IS_LATER.formatted(firstUnseen);
        }
    }

    /** The snapshots of two sessions; the first one is on the source. */
    public record Moment(Point source, Point target) {

        public static Moment read(Connection source, Connection target) throws SQLException {
            return new Moment(Point.read(source), Point.read(target));
        }

        private boolean isComparable(Moment then) {
            return source.isComparable(then.source) && target.isComparable(then.target);
        }
    }

    /**
     * A shard that was found equal to its copy while the copy followed.
     *
     * @param then what was seen of it first
     * @param rows of each table
     * @param source the tables' numbers there
     * @param target likewise
     */
    public record Following(Moment then, Map<String, Rows> rows, Map<String, Long> source, Map<String, Long> target) {

        public static Following begin(Connection source, Connection target, List<String> tables) throws SQLException {
            return new Following(
                    Moment.read(source, target), new HashMap<>(), oids(source, tables), oids(target, tables));
        }

        private static Map<String, Long> oids(Connection connection, List<String> tables) throws SQLException {
            Map<String, Long> oids = new HashMap<>();
            Sql.list(
                    connection,
                    OIDS,
                    row -> oids.put(row.getString(1), row.getLong(2)),
                    connection.createArrayOf("text", tables.toArray()));
            return oids;
        }

        /**
         * Whether a table is equal now, provided that comparing the rows written since is enough; otherwise empty.
         *
         * @param sessions on the source first
         * @return the number of rows; empty if they differ, or all of them have to be compared
         */
        private OptionalLong areEqual(String table, SnapshotPair sessions, Moment now) throws SQLException {
            Connection source = sessions.first();
            Connection target = sessions.second();
            Rows its = rows.get(table);
            if (its == null
                    || !now.isComparable(then)
                    || !isSame(source, table, this.source.get(table), then.source)
                    || !isSame(target, table, this.target.get(table), then.target)) {
                return OptionalLong.empty();
            }
            var rest = InParallel.both(source, target, side -> its.rest(side, isLater(side == source)));
            long most = Math.max(
                    rest.first().suspects().count(), rest.second().suspects().count());
            boolean areEqual = rest.areEqual()
                    || (rest.first().keys().equals(rest.second().keys())
                            && most <= FEW
                            && areEqualByKey(its, source, target));
            return areEqual ? OptionalLong.of(rest.first().keys().count()) : OptionalLong.empty();
        }

        private String isLater(boolean onSource) {
            return (onSource ? then.source : then.target).isLater();
        }

        private static boolean isSame(Connection connection, String table, @Nullable Long oid, Point then)
                throws SQLException {
            return oid != null && Sql.isTrue(connection, IS_SAME_TABLE.formatted(then.isLater()), table, oid, oid);
        }

        /** Compares rows by key, as a row written while the target was read may count as new on one side only. */
        private boolean areEqualByKey(Rows its, Connection source, Connection target) throws SQLException {
            var later = InParallel.both(source, target, side -> its.keysWhere(side, isLater(side == source)));
            Set<String> all = new TreeSet<>(later.first());
            all.addAll(later.second());
            List<String> keys = List.copyOf(all);
            for (int i = 0; i < keys.size(); i += AT_ONCE) {
                List<String> some = keys.subList(i, Math.min(i + AT_ONCE, keys.size()));
                var versions = InParallel.both(source, target, side -> its.withKeys(side, some));
                for (String key : some) {
                    if (!Objects.equals(
                            hash(versions.first().get(key)),
                            hash(versions.second().get(key)))) {
                        return false;
                    }
                }
            }
            return true;
        }

        private static @Nullable Long hash(Rows.@Nullable Version version) {
            return version == null ? null : version.hash();
        }
    }

    private record Equal(long oid, long rows, Moment then) {}

    /** An attempt at a cutover, with the tables of its shard that are found equal as of then. */
    public static final class Attempt {

        private final Map<String, Equal> tables = new ConcurrentHashMap<>();
        private final @Nullable Following following;

        Attempt(@Nullable Following following) {
            this.following = following;
        }

        /**
         * Compares tables, as of the cutover.
         *
         * @param sessions on the source first
         * @param leader the session on the server that had the shard
         * @param first called when a table is found to differ, before its rows are looked for
         */
        public List<TableDifference> compare(
                List<String> its,
                SnapshotPair sessions,
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
                OptionalLong count =
                        following == null ? OptionalLong.empty() : following.areEqual(table, sessions, now);
                if (count.isPresent()) {
                    tables.put(table, new Equal(oid, count.getAsLong(), now));
                    continue;
                }
                Rows rows = Rows.of(leader, follower, table);
                TableDifference.find(
                                leader,
                                follower,
                                rows,
                                names,
                                rowCount -> tables.put(table, new Equal(oid, rowCount, now)),
                                first)
                        .ifPresent(differences::add);
            }
            return differences;
        }
    }

    public EqualCopies(long move) {
        this.move = move;
    }

    public long move() {
        return move;
    }

    /**
     * Starts a new attempt, before its shard is fenced; forgets the findings of an earlier one.
     *
     * @param following what was found just before; null if nothing was
     */
    public Attempt begin(int shard, @Nullable Following following) {
        Attempt attempt = new Attempt(following);
        latest.put(shard, attempt);
        return attempt;
    }

    /**
     * Whether a copy still has the rows with which it was found equal; false if unknown.
     *
     * @param copy to the source
     * @param now what this session and one on the target see
     */
    public boolean isUnwritten(int shard, String table, Connection copy, Moment now) throws SQLException {
        Attempt attempt = latest.get(shard);
        if (attempt == null) {
            return false;
        }
        Equal equal = attempt.tables.get(table);
        if (equal == null) {
            return false;
        }
        return now.isComparable(equal.then)
                && Sql.isTrue(
                        copy,
                        UNWRITTEN.formatted(equal.then.source.isLater(), table),
                        table,
                        equal.oid,
                        equal.rows,
                        equal.oid);
    }
}
