/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.benchmarks.ids.CheckCost;
import org.shardflake.benchmarks.ids.PublishedFunction;
import org.shardflake.benchmarks.ids.Sql;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.sql.FunctionLibrary;

/**
 * What an id costs: microseconds in a statement of 200,000, and bytes of write-ahead log where each id finds its
 * sequence lagging the clock. All candidates take turns on one embedded server, in one session. With the argument {@code checks} it
 * measures what inserts cost with the checks against rows of other shards instead.
 */
public final class IdCost {

    private static final int IDS = 200_000;
    private static final int ROUNDS = 7;
    private static final int COLD_IDS = 1000;

    private static final String PUBLISHED = PublishedFunction.CALL;
    private static final String UUIDV7 = "uuidv7()";
    private static final String OURS = "shardflake.next_id(7, 'shard_0007.id_seq')";

    private IdCost() {}

    public static void main(String[] args) throws SQLException {
        try (PostgresCluster cluster = PostgresCluster.builder()
                        .provider(PostgresProvider.EMBEDDED)
                        .servers(1)
                        .setting("max_connections", "100") // PostgreSQL's default
                        .start();
                Connection connection = cluster.server(0).connect()) {
            prepare(connection);
            System.out.println(Sql.text(connection, "SELECT version()"));
            if (List.of(args).contains("checks")) {
                CheckCost.print(connection);
                return;
            }
            printTimes(connection);
            System.out.printf("%nWAL of a cold id: %.1f bytes%n", walBytesPerColdId(connection));
        }
    }

    private static void prepare(Connection connection) throws SQLException {
        FunctionLibrary.deploy(connection);
        Sql.execute(connection, "SELECT shardflake.create_shard(7)");
        PublishedFunction.create(connection);
    }

    private static void printTimes(Connection connection) throws SQLException {
        Map<String, List<Double>> times = new LinkedHashMap<>();
        List<String> candidates = new ArrayList<>(List.of(
                "nextval('%s')".formatted(PublishedFunction.SEQUENCE), PUBLISHED, OURS, "shard_0007.next_id()"));
        if (Sql.number(connection, "SHOW server_version_num") >= 180_000) {
            candidates.add(UUIDV7);
        }
        for (int round = 0; round < ROUNDS; round++) {
            for (String candidate : candidates) {
                times.computeIfAbsent(candidate, name -> new ArrayList<>())
                        .add(Sql.microsPerId(connection, candidate, IDS));
            }
        }
        System.out.printf("%n%,d ids in a statement, %d rounds, microseconds per id%n", IDS, ROUNDS);
        System.out.printf("%-44s %6s %6s %6s  %9s %9s%n", "", "min", "median", "max", "published", "uuidv7");
        times.forEach((candidate, measured) -> {
            Collections.sort(measured);
            System.out.printf(
                    "%-44s %6.3f %6.3f %6.3f  %9.2f %9.2f%n",
                    candidate,
                    measured.get(0),
                    median(measured),
                    measured.get(ROUNDS - 1),
                    median(measured) / median(times.getOrDefault(PUBLISHED, List.of())),
                    median(measured) / median(times.getOrDefault(UUIDV7, List.of())));
        });
    }

    private static double median(List<Double> measured) {
        if (measured.isEmpty()) {
            return Double.NaN;
        }
        List<Double> sorted = measured.stream().sorted().toList();
        return sorted.get(sorted.size() / 2);
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
