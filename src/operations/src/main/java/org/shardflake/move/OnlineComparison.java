/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/**
 * Compares a shard with the copy that follows it, while the shard takes writes.
 *
 * <p>The follower is always slightly behind, so differing rows are checked again, on the follower only after it has received
 * everything that the leader had: a row that has not changed on the leader meanwhile and still differs really differs.
 */
final class OnlineComparison implements AutoCloseable {

    private static final int ROUNDS = 20;

    private final Stream stream;
    private final Duration patience;
    private final MoveListener listener;
    private final ComparisonSessions sessions;
    private final Connection leader;
    private final Connection follower;
    private final List<String> undecided = new ArrayList<>();

    OnlineComparison(Stream stream, Duration patience, MoveListener listener) throws SQLException {
        this.listener = listener;
        this.stream = stream;
        this.patience = patience;
        this.sessions = ComparisonSessions.open(stream.publisher(), stream.subscriber());
        this.leader = sessions.first();
        this.follower = sessions.second();
    }

    List<TableDifference> compare(List<String> tables) throws SQLException {
        List<TableDifference> differences = new ArrayList<>();
        for (String table : tables) {
            compare(table).ifPresent(differences::add);
        }
        return differences;
    }

    /** Tables with rows that changed at every check. */
    List<String> undecided() {
        return undecided;
    }

    private Optional<TableDifference> compare(String table) throws SQLException {
        Rows rows = Rows.of(leader, follower, table);
        see(leader);
        catchUp();
        see(follower);
        Optional<TableDifference> first = TableDifference.find(leader, follower, rows);
        if (first.isEmpty()) {
            return first;
        }
        Set<String> doubtful = first.get().keys();
        Map<String, Long> leaderHas = new TreeMap<>();
        Map<String, Long> followerHas = new TreeMap<>();
        for (int round = 0; round < ROUNDS && !doubtful.isEmpty(); round++) {
            see(leader);
            Map<String, Long> before = rows.withKeys(leader, doubtful);
            catchUp();
            see(follower);
            Map<String, Long> there = rows.withKeys(follower, doubtful);
            see(leader);
            Map<String, Long> after = rows.withKeys(leader, doubtful);
            Set<String> undecided = new TreeSet<>();
            for (String key : doubtful) {
                if (!Objects.equals(before.get(key), after.get(key))) {
                    undecided.add(key);
                } else if (!Objects.equals(before.get(key), there.get(key))) {
                    put(leaderHas, key, before.get(key));
                    put(followerHas, key, there.get(key));
                }
            }
            doubtful = undecided;
        }
        if (!doubtful.isEmpty()) {
            undecided.add(table);
        }
        return TableDifference.of(table, leaderHas, followerHas);
    }

    private static void put(Map<String, Long> hashes, String key, @Nullable Long hash) {
        if (hash != null) {
            hashes.put(key, hash);
        }
    }

    private static void see(Connection connection) throws SQLException {
        connection.rollback();
        Sql.call(connection, "SELECT 1");
    }

    private void catchUp() throws SQLException {
        stream.await(patience, listener);
    }

    @Override
    public void close() {
        sessions.close();
    }
}
