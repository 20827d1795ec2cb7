/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.cluster.PostgresCluster;

/** What inserts cost with the checks that keep rows of other shards out, beside the same table without. */
public final class CheckCost {

    private static final int ROUNDS = 21;
    private static final List<String> TABLES = List.of("plain", "id_checked", "both_checked");

    private CheckCost() {}

    /** Measures and prints. */
    public static void print() throws SQLException {
        try (PostgresCluster cluster = IdCost.startServer();
                Connection connection = cluster.server(0).connect()) {
            Servers.prepare(connection);
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
            print(connection, 500, "of one row", "VALUES (7, 'a title')");
            print(connection, 10, "of 1000 rows", "SELECT n * 2000 + 7, 'a title' FROM generate_series(1, 1000) n");
            connection.rollback();
        }
    }

    private static void print(Connection connection, int statements, String what, String rows) throws SQLException {
        Map<String, Rounds.Measurement<SQLException>> candidates = new LinkedHashMap<>();
        for (String table : TABLES) {
            String insert = "INSERT INTO shard_0007.%s (uid, title) %s".formatted(table, rows);
            candidates.put(table, () -> millis(connection, insert, statements));
        }
        Rounds millis = Rounds.run(0, ROUNDS, candidates);
        System.out.printf("%n%d statements %s, %d rounds: milliseconds, ratio%n", statements, what, ROUNDS);
        for (String table : TABLES) {
            System.out.printf("%-14s %s, %s%n", table, millis.of(table), millis.ratio(table, "plain"));
        }
    }

    private static double millis(Connection connection, String insert, int statements) throws SQLException {
        long start = System.nanoTime();
        try (PreparedStatement statement = connection.prepareStatement(insert)) {
            for (int i = 0; i < statements; i++) {
                statement.executeUpdate();
            }
        }
        double millis = (System.nanoTime() - start) / 1e6;
        connection.rollback();
        return millis;
    }
}
