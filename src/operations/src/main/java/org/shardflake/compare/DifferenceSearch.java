/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.shardflake.compare.Rows.Digest;

/**
 * Finds the rows in which two servers' copies of a table differ, in bounded memory, however many and large the rows are.
 *
 * <p>Servers hash and sort; here, keys and hashes of the parts of the table that differ are read in their order from both, some at a
 * time, and compared as they pass. The search ends when it has found as many as wanted. Both connections are in a transaction that
 * sees one moment.
 */
public final class DifferenceSearch {

    /** The number of rows that the first pass reads; each later pass reads more, since the one before found little. */
    private static final long FIRST_PASS = 100_000;

    private static final int GROWTH = 8;
    private static final int FETCHED = 1_000;

    private final Connection leader;
    private final Connection follower;
    private final Rows leaderRows;
    private final Rows followerRows;

    /** @param rows of both */
    public DifferenceSearch(Connection leader, Connection follower, Rows rows) {
        this(leader, follower, rows, rows);
    }

    /**
     * Searches copies that are read by different queries.
     *
     * @param leaderRows the leader's, whose keys and hashes are of the same form as those of the follower's
     */
    public DifferenceSearch(Connection leader, Connection follower, Rows leaderRows, Rows followerRows) {
        this.leader = leader;
        this.follower = follower;
        this.leaderRows = leaderRows;
        this.followerRows = followerRows;
    }

    /**
     * A row that differs.
     *
     * @param key as PostgreSQL writes a row
     * @param leader its hash there, null if that has none
     * @param follower likewise
     */
    public record Difference(
            String key, @Nullable Long leader, @Nullable Long follower) {

        /** The text of each column of the key. */
        public List<String> keyValues() {
            return KeyText.values(key);
        }
    }

    /** Receives differing rows in batches, and decides whether to continue. */
    @FunctionalInterface
    public interface Receiver {
        boolean receive(List<Difference> some) throws SQLException;
    }

    /**
     * Searches the whole table, unless the receiver stops earlier.
     *
     * @return how many rows at least differ in the parts that were not searched; empty if all were
     */
    public OptionalLong run(Receiver receiver) throws SQLException {
        if (leader.getAutoCommit() || follower.getAutoCommit()) {
            throw new IllegalStateException("outside a transaction the driver would read all rows at once");
        }
        Map<Integer, Digest> here = new TreeMap<>(leaderRows.bucketDigests(leader));
        Map<Integer, Digest> there = followerRows.bucketDigests(follower);
        List<Integer> left = new ArrayList<>(new TreeSet<>(here.keySet()));
        there.keySet().stream().filter(bucket -> !here.containsKey(bucket)).forEach(left::add);
        left.removeIf(bucket -> Objects.equals(here.get(bucket), there.get(bucket)));
        long most = FIRST_PASS;
        while (!left.isEmpty()) {
            List<Integer> next = new ArrayList<>();
            long rowsOfNext = 0;
            while (!left.isEmpty() && (next.isEmpty() || rowsOfNext < most)) {
                int bucket = left.remove(left.size() - 1);
                next.add(bucket);
                rowsOfNext += Math.max(count(here, bucket), count(there, bucket));
            }
            if (!search(next, receiver)) {
                // Each part has one that differs, and as many more as it has rows more than its other copy.
                return OptionalLong.of(left.stream()
                        .mapToLong(bucket -> Math.max(1, Math.abs(count(here, bucket) - count(there, bucket))))
                        .sum());
            }
            most *= GROWTH;
        }
        return OptionalLong.empty();
    }

    private static long count(Map<Integer, Digest> digests, int bucket) {
        Digest digest = digests.get(bucket);
        return digest == null ? 0 : digest.count();
    }

    private boolean search(List<Integer> buckets, Receiver receiver) throws SQLException {
        List<Difference> found = new ArrayList<>();
        try (Sorted here = new Sorted(leader, leaderRows, buckets);
                Sorted there = new Sorted(follower, followerRows, buckets)) {
            while (here.key != null || there.key != null) {
                Difference difference = next(here, there);
                if (difference != null) {
                    found.add(difference);
                }
                if (found.size() == FETCHED) {
                    if (!receiver.receive(List.copyOf(found))) {
                        return false;
                    }
                    found.clear();
                }
            }
        }
        return found.isEmpty() || receiver.receive(List.copyOf(found));
    }

    private static @Nullable Difference next(Sorted here, Sorted there) throws SQLException {
        int order = here.compareTo(there);
        String key = String.valueOf(order <= 0 ? here.key : there.key);
        Long ours = order <= 0 ? here.hash : null;
        Long theirs = order >= 0 ? there.hash : null;
        if (order <= 0) {
            here.next();
        }
        if (order >= 0) {
            there.next();
        }
        return Objects.equals(ours, theirs) ? null : new Difference(key, ours, theirs);
    }

    /** The rows of some buckets of one copy, in order. */
    private static final class Sorted implements AutoCloseable {

        private final PreparedStatement statement;
        private final ResultSet row;
        private @Nullable String key;
        private @Nullable Long hash;

        Sorted(Connection connection, Rows rows, List<Integer> buckets) throws SQLException {
            statement = connection.prepareStatement(rows.inBuckets());
            try {
                statement.setArray(1, connection.createArrayOf("integer", buckets.toArray()));
                statement.setFetchSize(FETCHED);
                row = statement.executeQuery();
                next();
            } catch (SQLException e) {
                statement.close();
                throw e;
            }
        }

        void next() throws SQLException {
            boolean isThere = row.next();
            key = isThere ? row.getString(1) : null;
            hash = isThere ? row.getLong(2) : null;
        }

        /** Compares the current rows of two copies; an exhausted copy sorts last. */
        int compareTo(Sorted other) {
            if (key == null || other.key == null) {
                return key != null ? -1 : other.key != null ? 1 : 0;
            }
            return KeyText.ORDER.compare(key, other.key);
        }

        @Override
        public void close() throws SQLException {
            statement.close();
        }
    }
}
