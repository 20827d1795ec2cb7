/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.shardflake.ShardKey;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.router.ShardRouter;

/**
 * Transactions of one statement that names its table without a schema, on a connection as a framework gets it, beside those
 * of {@code write} with the schema in the text.
 */
public final class UnqualifiedSql {

    private static final String QUALIFIED = "qualified";

    private final PhotoServers servers;
    private final ShardRouter router;
    private final int threads;
    private final int millis;

    private UnqualifiedSql(PhotoServers servers, ShardRouter router, int threads, int millis) {
        this.servers = servers;
        this.router = router;
        this.threads = threads;
        this.millis = millis;
    }

    /** Measures and prints. */
    public static void print() throws Exception {
        Sizing sizing = new Sizing("src/benchmarks", "UnqualifiedSql", "unqualified.");
        int shards = sizing.number("shards", 200);
        int rounds = sizing.number("rounds", 41);
        int millis = sizing.number("millis", 250);
        try (PostgresCluster cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(2)
                .start()) {
            PhotoServers servers = PhotoServers.prepare(cluster, shards, 20, 16);
            try (ShardRouter router = ShardflakeJdbc.router(servers.layout())) {
                System.out.printf("%d shards, %d rounds of %d ms, transactions a second%n", shards, rounds, millis);
                for (int threads : sizing.numbers("threads", List.of(1, 16))) {
                    UnqualifiedSql compared = new UnqualifiedSql(servers, router, threads, millis);
                    print(threads + " threads, select", compared.selects(rounds));
                    print(threads + " threads, insert", compared.inserts(rounds));
                }
            }
        }
    }

    private static void print(String what, Rounds rates) {
        System.out.println(what);
        for (String candidate : rates.candidates()) {
            System.out.printf(
                    "    %-40s %-28s %s%n", candidate, rates.of(candidate), rates.ratio(candidate, QUALIFIED));
        }
    }

    /** One transaction. */
    @FunctionalInterface
    private interface Work {
        void run() throws SQLException;
    }

    /** What is done on a connection of a framework. */
    @FunctionalInterface
    private interface OnConnection {
        void run(Connection connection) throws SQLException;
    }

    private Rounds selects(int rounds) throws Exception {
        Map<String, Work> candidates = new LinkedHashMap<>();
        candidates.put(QUALIFIED, () -> {
            long id = anyId();
            router.write(ShardKey.id(id), tx -> HandWritten.select(tx.connection(), tx.schema() + ".photo", id));
        });
        candidates.put("unqualified", () -> {
            long id = anyId();
            inTransaction(ShardKey.id(id), connection -> HandWritten.select(connection, "photo", id));
        });
        candidates.put("unqualified, by the search_path", () -> {
            long id = anyId();
            inTransaction(ShardKey.id(id), connection -> HandWritten.select(connection, "photo /* by path */", id));
        });
        return rates(rounds, candidates);
    }

    private Rounds inserts(int rounds) throws Exception {
        Map<String, Work> candidates = new LinkedHashMap<>();
        candidates.put(QUALIFIED, () -> {
            long uid = anyUid();
            router.write(uid, tx -> HandWritten.insert(tx.connection(), tx.schema() + ".photo", uid, "a title"));
        });
        candidates.put("unqualified", () -> {
            long uid = anyUid();
            inTransaction(ShardKey.uid(uid), connection -> HandWritten.insert(connection, "photo", uid, "a title"));
        });
        candidates.put("unqualified, by the search_path", () -> {
            long uid = anyUid();
            inTransaction(
                    ShardKey.uid(uid),
                    connection -> HandWritten.insert(connection, "photo /* by path */", uid, "a title"));
        });
        return rates(rounds, candidates);
    }

    private long anyId() {
        return servers.photos()
                .get(ThreadLocalRandom.current().nextInt(servers.photos().size()))
                .id();
    }

    private static long anyUid() {
        return ThreadLocalRandom.current().nextLong(1_000_000);
    }

    /** As Spring's transaction manager does it. */
    private void inTransaction(ShardKey key, OnConnection work) throws SQLException {
        router.<Boolean, SQLException>attempt(key, true, attempt -> {
            try (Connection connection = attempt.connection()) {
                connection.setAutoCommit(false);
                work.run(connection);
                connection.commit();
                connection.setAutoCommit(true);
            }
            return true;
        });
    }

    private Rounds rates(int rounds, Map<String, Work> candidates) throws Exception {
        Map<String, Rounds.Measurement<Exception>> measured = new LinkedHashMap<>();
        candidates.forEach((name, work) -> measured.put(name, () -> Rates.of(threads, millis, work::run)));
        return Rounds.run(2, rounds, measured);
    }
}
