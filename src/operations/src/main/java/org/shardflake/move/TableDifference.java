/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.LongConsumer;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/**
 * The rows of a table that differ between two servers, by their keys.
 *
 * @param table with its schema
 * @param missing the rows that only the server taking the writes has
 * @param extra the rows that only the other server has
 * @param different the rows whose values differ
 */
public record TableDifference(String table, Set<String> missing, Set<String> extra, Set<String> different) {

    private static final int EXAMPLES = 3;

    /** Compares a table as seen by two connections; fast if it is equal. */
    static Optional<TableDifference> find(Connection leader, Connection follower, Rows rows) throws SQLException {
        return find(leader, follower, rows, equal -> {});
    }

    /**
     * The same.
     *
     * @param equal is told how many rows there are, if no row differs
     */
    static Optional<TableDifference> find(Connection leader, Connection follower, Rows rows, LongConsumer equal)
            throws SQLException {
        var digests = InParallel.both(() -> rows.digest(leader), () -> rows.digest(follower));
        if (digests.areEqual()) {
            equal.accept(digests.first().count());
            return Optional.empty();
        }
        var buckets = InParallel.both(() -> rows.bucketDigests(leader), () -> rows.bucketDigests(follower));
        Set<Integer> differing = new HashSet<>(buckets.first().keySet());
        differing.addAll(buckets.second().keySet());
        differing.removeIf(bucket ->
                Objects.equals(buckets.first().get(bucket), buckets.second().get(bucket)));
        var hashes =
                InParallel.both(() -> rows.inBuckets(leader, differing), () -> rows.inBuckets(follower, differing));
        return of(rows.name(), hashes.first(), hashes.second());
    }

    static Optional<TableDifference> of(String table, Map<String, Long> leader, Map<String, Long> follower) {
        Set<String> missing = new TreeSet<>(leader.keySet());
        missing.removeAll(follower.keySet());
        Set<String> extra = new TreeSet<>(follower.keySet());
        extra.removeAll(leader.keySet());
        Set<String> different = new TreeSet<>(leader.keySet());
        different.removeIf(key -> !follower.containsKey(key) || Objects.equals(leader.get(key), follower.get(key)));
        TableDifference difference = new TableDifference(table, missing, extra, different);
        return difference.count() == 0 ? Optional.empty() : Optional.of(difference);
    }

    /** Tables with rows that only the follower has, each identified by its place in the table. */
    static List<TableDifference> onlyOn(Connection follower, Collection<String> tables, Collection<String> leaderTables)
            throws SQLException {
        List<TableDifference> differences = new ArrayList<>();
        for (String table : tables) {
            if (!leaderTables.contains(table)) {
                Set<String> rows =
                        new TreeSet<>(Sql.list(follower, "SELECT ctid::text FROM " + table, row -> row.getString(1)));
                if (!rows.isEmpty()) {
                    differences.add(new TableDifference(table, Set.of(), rows, Set.of()));
                }
            }
        }
        return differences;
    }

    /** A copy without some keys. */
    Optional<TableDifference> without(Set<String> keys) {
        TableDifference left =
                new TableDifference(table, without(missing, keys), without(extra, keys), without(different, keys));
        return left.count() == 0 ? Optional.empty() : Optional.of(left);
    }

    /** A copy without the rows that only the leader has. */
    Optional<TableDifference> ofFollower() {
        TableDifference left = new TableDifference(table, Set.of(), extra, different);
        return left.count() == 0 ? Optional.empty() : Optional.of(left);
    }

    private static Set<String> without(Set<String> all, Set<String> keys) {
        Set<String> left = new TreeSet<>(all);
        left.removeAll(keys);
        return left;
    }

    /** How many rows differ. */
    public int count() {
        return missing.size() + extra.size() + different.size();
    }

    Set<String> keys() {
        Set<String> keys = new HashSet<>(missing);
        keys.addAll(extra);
        keys.addAll(different);
        return keys;
    }

    @Override
    public String toString() {
        List<String> parts = new ArrayList<>();
        describe(parts, missing, "missing");
        describe(parts, extra, "extra");
        describe(parts, different, "different");
        return "%s: %s".formatted(table, String.join(", ", parts));
    }

    private static void describe(List<String> parts, Set<String> keys, String what) {
        if (!keys.isEmpty()) {
            List<String> examples = keys.stream().limit(EXAMPLES).toList();
            parts.add("%,d %s %s%s"
                    .formatted(keys.size(), what, String.join(" ", examples), keys.size() > EXAMPLES ? " ..." : ""));
        }
    }
}
