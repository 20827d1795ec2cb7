/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;

/** The time per id of Shardflake, beside the function that Instagram published and {@code uuidv7()}, in a minute. */
public final class IdCost {

    private static final int IDS = 200_000;
    private static final int ROUNDS = 7;
    private static final int COLD_IDS = 1000;

    private static final String OURS = "shardflake.next_id(7, 'shard_0007.id_seq')";

    private IdCost() {}

    /** Measures and prints. */
    public static void print() throws SQLException {
        try (PostgresCluster cluster = startServer();
                Connection connection = cluster.server(0).connect()) {
            Servers.prepare(connection);
            System.out.println(Sql.text(connection, "SELECT version()"));
            printTimes(connection);
            System.out.printf("%nWAL of a cold id: %.1f bytes%n", walBytesPerColdId(connection));
        }
    }

    static PostgresCluster startServer() {
        return PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(1)
                .setting("max_connections", "100") // PostgreSQL's default
                .start();
    }

    private static void printTimes(Connection connection) throws SQLException {
        Map<String, Rounds.Measurement<SQLException>> candidates = new LinkedHashMap<>();
        for (String id : List.of(
                "nextval('%s')".formatted(PublishedFunction.SEQUENCE),
                PublishedFunction.CALL,
                OURS,
                "shard_0007.next_id()",
                "uuidv7()")) {
            if (!id.equals("uuidv7()") || Sql.number(connection, "SHOW server_version_num") >= 180_000) {
                candidates.put(id, () -> Sql.microsPerId(connection, id, IDS));
            }
        }
        Rounds micros = Rounds.run(0, ROUNDS, candidates);
        System.out.printf("%n%,d ids in a statement, %d rounds, microseconds per id%n", IDS, ROUNDS);
        for (String candidate : micros.candidates()) {
            System.out.printf("%-44s %s%n", candidate, micros.of(candidate));
        }
        System.out.println();
        for (String other : micros.candidates()) {
            if (!other.equals(OURS)) {
                System.out.printf("%s: %s of %s%n", OURS, micros.ratio(OURS, other), other);
            }
        }
    }

    private static double walBytesPerColdId(Connection connection) throws SQLException {
        Sql.text(connection, "SELECT " + OURS); // a session's first draw costs one more record
        String before = Sql.walPosition(connection);
        Sql.text(
                connection,
                "SELECT count(" + OURS + ") FROM (SELECT pg_sleep(0.005) FROM generate_series(1, " + COLD_IDS
                        + ")) AS idle");
        return Sql.walBytesSince(connection, before) / COLD_IDS;
    }
}
