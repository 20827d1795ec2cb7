/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What inserts cost with the checks that keep rows of other shards out, beside the same table without. Tables take turns. */
public final class CheckCost {

    private static final int ROUNDS = 21;
    private static final int STATEMENTS = 500;
    private static final int ROWS = 1000;
    private static final int BATCHES = 10;
    private static final List<String> TABLES = List.of("plain", "id_checked", "both_checked");

    private CheckCost() {}

    /** Shard 7 of 2000 is there. */
    public static void print(Connection connection) throws SQLException {
        for (String table : TABLES) {
            Sql.execute(
                    connection,
                    "SET shardflake.checks = off; CREATE TABLE shard_0007.%1$s (id bigint PRIMARY KEY, uid bigint NOT NULL, title text); SELECT shardflake.complete_tables(7)"
                            .formatted(table));
        }
        Sql.execute(
                connection,
                "SELECT shardflake.add_check('shard_0007.id_checked', 'id'), shardflake.add_check('shard_0007.both_checked', 'id'), shardflake.add_check('shard_0007.both_checked', 'uid', 2000)");
        connection.setAutoCommit(false); // so that no wait for the disk hides the cost
        print(
                connection,
                "%,d statements of one row".formatted(STATEMENTS),
                "INSERT INTO shard_0007.%s (uid, title) VALUES (7, 'a title')",
                STATEMENTS);
        print(
                connection,
                "%,d statements of %,d rows".formatted(BATCHES, ROWS),
                "INSERT INTO shard_0007.%s (uid, title) SELECT n * 2000 + 7, 'a title' FROM generate_series(1, " + ROWS
                        + ") n",
                BATCHES);
        connection.rollback();
        connection.setAutoCommit(true);
    }

    private static void print(Connection connection, String what, String insert, int statements) throws SQLException {
        Map<String, List<Double>> seconds = new LinkedHashMap<>();
        for (int round = 0; round < ROUNDS; round++) {
            for (int turn = 0; turn < TABLES.size(); turn++) {
                String table = TABLES.get((turn + round) % TABLES.size());
                seconds.computeIfAbsent(table, name -> new ArrayList<>())
                        .add(time(connection, insert.formatted(table), statements));
                connection.rollback();
            }
        }
        System.out.printf("%n%s, %d rounds, milliseconds and ratio of the medians%n", what, ROUNDS);
        double plain = median(seconds.getOrDefault("plain", List.of()));
        for (String table : TABLES) {
            double median = median(seconds.getOrDefault(table, List.of()));
            System.out.printf("%-14s %8.1f %6.3f%n", table, median * 1000, median / plain);
        }
    }

    private static double time(Connection connection, String insert, int statements) throws SQLException {
        long start = System.nanoTime();
        try (PreparedStatement statement = connection.prepareStatement(insert)) {
            for (int i = 0; i < statements; i++) {
                statement.executeUpdate();
            }
        }
        return (System.nanoTime() - start) / 1e9;
    }

    private static double median(List<Double> measured) {
        return measured.stream().sorted().toList().get(measured.size() / 2);
    }
}
