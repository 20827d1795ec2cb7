/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongConsumer;
import org.shardflake.compare.DifferenceSearch.Difference;
import org.shardflake.jdbc.InParallel;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;

/**
 * The rows of a table that differ between two servers, by their keys.
 *
 * @param table with its schema
 * @param missing the rows that only the server taking the writes has
 * @param extra the rows that only the other server has
 * @param different the rows whose values differ
 * @param atLeast how many rows differ at least, if not all were looked for; otherwise 0
 */
public record TableDifference(
        String table, Set<String> missing, Set<String> extra, Set<String> different, long atLeast) {

    private static final int EXAMPLES = 3;

    /** An action taken once it is certain that rows differ, before they are searched for. */
    @FunctionalInterface
    public interface First {
        void differs() throws SQLException;
    }

    /** Chooses the differing rows that count as different. */
    @FunctionalInterface
    public interface Filter {

        /** Accepts all rows. */
        Filter ALL = rows -> rows;

        /** Accepts rows that the leader has. */
        Filter OF_LEADER =
                rows -> rows.stream().filter(row -> row.leader() != null).toList();

        /** Accepts rows that the follower has. */
        Filter OF_FOLLOWER =
                rows -> rows.stream().filter(row -> row.follower() != null).toList();

        List<Difference> of(List<Difference> rows) throws SQLException;

        default Filter and(Filter other) {
            return rows -> other.of(of(rows));
        }
    }

    /**
     * A limit on the differing rows that a comparison names. The first row of a table is always named, however many tables there are.
     * Thread-safe.
     */
    public static final class Names {

        /** The number of differing rows that one comparison names, for any number of shards. */
        private static final int ALL = 1_000;

        private int left = ALL;

        private synchronized int left() {
            return Math.max(left, 1);
        }

        private synchronized void take(int names) {
            left -= names;
        }
    }

    /**
     * Compares a table as two connections see it in their transactions; fast if the table is equal.
     *
     * @param equal is told how many rows there are, if no row differs
     * @param first called before any row that differs is looked for
     */
    static Optional<TableDifference> find(
            Connection leader, Connection follower, Rows rows, Names names, LongConsumer equal, First first)
            throws SQLException {
        var digests = InParallel.both(leader, follower, rows::digest);
        if (digests.areEqual()) {
            equal.accept(digests.first().count());
            return Optional.empty();
        }
        first.differs();
        return search(leader, follower, rows, rows, names, Filter.ALL, () -> {});
    }

    /**
     * Compares a table, when some of the differing rows may not count.
     *
     * @param first called when the first one is found that counts
     */
    public static Optional<TableDifference> findCounting(
            Connection leader, Connection follower, Rows rows, Names names, Filter filter, First first)
            throws SQLException {
        boolean areEqual = InParallel.both(leader, follower, rows::digest).areEqual();
        return areEqual ? Optional.empty() : search(leader, follower, rows, rows, names, filter, first);
    }

    /** Searches for rows that differ between tables of different names, as seen by two connections in a transaction. */
    public static Optional<TableDifference> search(
            Connection leader, Connection follower, Rows leaderRows, Rows rows, Names names, Filter filter)
            throws SQLException {
        return search(leader, follower, leaderRows, rows, names, filter, () -> {});
    }

    private static Optional<TableDifference> search(
            Connection leader, Connection follower, Rows leaderRows, Rows rows, Names names, Filter filter, First first)
            throws SQLException {
        Set<String> missing = new TreeSet<>();
        Set<String> extra = new TreeSet<>();
        Set<String> different = new TreeSet<>();
        int most = names.left();
        long[] counted = new long[1];
        OptionalLong rest = new DifferenceSearch(leader, follower, leaderRows, rows).run(some -> {
            List<Difference> counting = filter.of(some);
            if (counted[0] == 0 && !counting.isEmpty()) {
                first.differs();
            }
            counting.stream()
                    .limit(Math.max(0, most - counted[0]))
                    .forEach(row -> (row.follower() == null ? missing : row.leader() == null ? extra : different)
                            .add(row.key()));
            counted[0] += counting.size();
            return counted[0] < most;
        });
        boolean areAll = rest.isEmpty() && counted[0] <= most;
        // Each part that was not searched has a row that differs, but perhaps none that counts.
        long unsearched = filter == Filter.ALL ? rest.orElse(0) : 0;
        TableDifference found =
                new TableDifference(rows.name(), missing, extra, different, areAll ? 0 : counted[0] + unsearched);
        names.take(found.named());
        return found.named() == 0 ? Optional.empty() : Optional.of(found);
    }

    /** The tables that only the follower has and that contain rows, each row named by its place in the table. */
    public static List<TableDifference> onlyOn(
            Connection follower, Collection<String> tables, Collection<String> leaderTables, Names names)
            throws SQLException {
        List<TableDifference> differences = new ArrayList<>();
        for (String table : tables) {
            if (!leaderTables.contains(table)) {
                Set<String> rows = new TreeSet<>(Sql.list(
                        follower,
                        "SELECT ctid::text FROM %s LIMIT %s".formatted(table, names.left()),
                        row -> row.getString(1)));
                if (!rows.isEmpty()) {
                    long all = Sql.number(follower, "SELECT count(*) FROM " + table);
                    names.take(rows.size());
                    differences.add(new TableDifference(table, Set.of(), rows, Set.of(), all > rows.size() ? all : 0));
                }
            }
        }
        return differences;
    }

    /** The number of differing rows, in words. */
    public static String count(Collection<List<TableDifference>> differences) {
        List<TableDifference> all = differences.stream().flatMap(List::stream).toList();
        long rows = all.stream()
                .mapToLong(its -> Math.max(its.named(), its.atLeast))
                .sum();
        boolean areAll = all.stream().allMatch(its -> its.atLeast == 0);
        return (areAll ? "" : "at least ") + Plural.of(rows, "row");
    }

    private int named() {
        return missing.size() + extra.size() + different.size();
    }

    @Override
    public String toString() {
        List<String> parts = new ArrayList<>();
        describe(parts, missing, "missing");
        describe(parts, extra, "extra");
        describe(parts, different, "different");
        String all = atLeast > 0 ? String.format(Locale.ROOT, "at least %,d rows, among them ", atLeast) : "";
        return "%s: %s%s".formatted(table, all, String.join(", ", parts));
    }

    private static void describe(List<String> parts, Set<String> keys, String what) {
        if (!keys.isEmpty()) {
            List<String> examples = keys.stream().limit(EXAMPLES).toList();
            parts.add(String.format(
                    Locale.ROOT,
                    "%,d %s %s%s",
                    keys.size(),
                    what,
                    String.join(" ", examples),
                    keys.size() > EXAMPLES ? " ..." : ""));
        }
    }
}
