/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.router.ShardRouter;
import org.shardflake.sql.FunctionLibrary;

/**
 * What the router costs beside the same statements on a bare pool of the same server, configured alike: point selects by
 * primary key and single-row inserts, with and without a transaction of their own, by one thread and by eight.
 */
public final class RouterThroughput {

    private static final int SHARDS = 100;
    private static final int SERVERS = 2;
    private static final int ROWS_A_SHARD = 100;
    private static final int ROUNDS = 11;
    private static final long ROUND_NANOS = 1_000_000_000L;
    private static final String SELECT = "SELECT uid FROM %s.photo WHERE id = ?";
    private static final String INSERT = "INSERT INTO %s.photo (uid, title) VALUES (?, 'a photo') RETURNING id";

    private final ShardRouter router;
    private final HikariDataSource bare;
    private final long[] ids;

    private RouterThroughput(ShardRouter router, HikariDataSource bare, long[] ids) {
        this.router = router;
        this.bare = bare;
        this.ids = ids;
    }

    /** One operation, on a row or a user of a shard of the first server. */
    @FunctionalInterface
    private interface Operation {
        void run(long id) throws SQLException;
    }

    public static void main(String[] args) throws Exception {
        try (PostgresCluster cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(SERVERS)
                .start()) {
            List<Server> servers = cluster.servers().stream()
                    .map(server -> new Server(server.name(), server.uri("postgres")))
                    .toList();
            ShardMap map = ShardMap.initial(new Sharding(SHARDS), IdLayout.DEFAULT, servers, Spread.ROUND_ROBIN);
            for (int i = 0; i < SERVERS; i++) {
                try (Connection connection = cluster.server(i).connect()) {
                    prepare(connection, map.shards(servers.get(i)).stream().toArray());
                }
            }
            HikariConfig config = new HikariConfig();
            try (ShardRouter router = ShardRouter.builder()
                    .map(map)
                    .customizePools((server, its) -> its.copyStateTo(config))
                    .build()) {
                long[] ids = ids(router, map.shards(servers.get(0)).stream().toArray());
                router.connection(ShardKey.id(ids[0])).close(); // The last pool made is that of the first server.
                try (HikariDataSource bare = new HikariDataSource(config)) {
                    new RouterThroughput(router, bare, ids).compare();
                }
            }
        }
    }

    private static void prepare(Connection connection, int[] shards) throws SQLException {
        FunctionLibrary.deploy(connection);
        try (Statement statement = connection.createStatement()) {
            for (int shard : shards) {
                statement.execute("""
                        SELECT shardflake.create_shard(%1$d);
                        CREATE TABLE %2$s.photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text);
                        SELECT shardflake.add_id_sequence('%2$s.photo'), shardflake.add_fence('%2$s.photo');
                        INSERT INTO %2$s.photo (uid, title) SELECT %1$d, 'a photo' FROM generate_series(1, %3$d);
                        """.formatted(shard, Sharding.schema(shard), ROWS_A_SHARD));
            }
            statement.execute("VACUUM ANALYZE");
        }
    }

    private static long[] ids(ShardRouter router, int[] shards) throws SQLException {
        List<Long> ids = new ArrayList<>();
        for (int shard : shards) {
            router.run(ShardKey.shard(shard), tx -> {
                try (Statement statement = tx.connection().createStatement();
                        ResultSet row = statement.executeQuery(tx.sql("SELECT id FROM ${shard.schema}.photo"))) {
                    while (row.next()) {
                        ids.add(row.getLong(1));
                    }
                }
            });
        }
        return ids.stream().mapToLong(Long::longValue).toArray();
    }

    private void compare() throws Exception {
        System.out.printf(
                "%d rounds of %.0f s each, operations per second (median); ratio of the router to the bare pool%n%n",
                ROUNDS, ROUND_NANOS / 1e9);
        System.out.printf("%-34s %9s %9s %7s %7s %7s%n", "", "bare", "router", "min", "median", "max");
        for (int threads : new int[] {1, 8}) {
            compare(threads, "select, auto-commit", this::bareSelect, this::routedSelect);
            compare(threads, "select, transaction", this::bareSelectInTransaction, this::routedRead);
            compare(threads, "insert, auto-commit", this::bareInsert, this::routedInsert);
            compare(threads, "insert, transaction", this::bareInsertInTransaction, this::routedWrite);
        }
    }

    private void compare(int threads, String what, Operation bareOne, Operation routedOne) throws Exception {
        throughput(threads, bareOne);
        throughput(threads, routedOne);
        List<Double> bareRates = new ArrayList<>();
        List<Double> routedRates = new ArrayList<>();
        List<Double> ratios = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            boolean bareFirst = round % 2 == 0;
            Map<Boolean, Double> rates = new LinkedHashMap<>();
            rates.put(bareFirst, throughput(threads, bareFirst ? bareOne : routedOne));
            rates.put(!bareFirst, throughput(threads, bareFirst ? routedOne : bareOne));
            bareRates.add(rates.getOrDefault(true, 0.0));
            routedRates.add(rates.getOrDefault(false, 0.0));
            ratios.add(rates.getOrDefault(false, 0.0) / rates.getOrDefault(true, 1.0));
        }
        Collections.sort(ratios);
        System.out.printf(
                "%-34s %,9.0f %,9.0f %7.3f %7.3f %7.3f%n",
                "%s, %d thread%s".formatted(what, threads, threads == 1 ? "" : "s"),
                median(bareRates),
                median(routedRates),
                ratios.get(0),
                median(ratios),
                ratios.get(ROUNDS - 1));
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().toList().get(values.size() / 2);
    }

    /** Operations per second. */
    private double throughput(int threads, Operation operation) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        long start = System.nanoTime();
        List<Future<Long>> counts = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            counts.add(executor.submit(() -> {
                long done = 0;
                while (System.nanoTime() - start < ROUND_NANOS) {
                    operation.run(ids[ThreadLocalRandom.current().nextInt(ids.length)]);
                    done++;
                }
                return done;
            }));
        }
        long sum = 0;
        for (Future<Long> count : counts) {
            sum += count.get();
        }
        executor.shutdown();
        return sum * 1e9 / (System.nanoTime() - start);
    }

    private void bareSelect(long id) throws SQLException {
        try (Connection connection = bare.getConnection()) {
            select(connection, Sharding.schema(IdLayout.shard(id)), id);
        }
    }

    private void routedSelect(long id) throws SQLException {
        ShardKey key = ShardKey.id(id);
        try (Connection connection = router.connection(key)) {
            select(connection, router.schema(key), id);
        }
    }

    private void bareSelectInTransaction(long id) throws SQLException {
        try (Connection connection = bare.getConnection()) {
            connection.setReadOnly(true);
            connection.setAutoCommit(false);
            select(connection, Sharding.schema(IdLayout.shard(id)), id);
            connection.commit();
        }
    }

    private void routedRead(long id) throws SQLException {
        router.read(ShardKey.id(id), tx -> select(tx.connection(), tx.schema(), id));
    }

    private void bareInsert(long id) throws SQLException {
        try (Connection connection = bare.getConnection()) {
            insert(connection, Sharding.schema(IdLayout.shard(id)), IdLayout.shard(id));
        }
    }

    private void routedInsert(long id) throws SQLException {
        ShardKey key = ShardKey.uid(IdLayout.shard(id));
        try (Connection connection = router.connection(key)) {
            insert(connection, router.schema(key), IdLayout.shard(id));
        }
    }

    private void bareInsertInTransaction(long id) throws SQLException {
        try (Connection connection = bare.getConnection()) {
            connection.setAutoCommit(false);
            insert(connection, Sharding.schema(IdLayout.shard(id)), IdLayout.shard(id));
            connection.commit();
        }
    }

    private void routedWrite(long id) throws SQLException {
        long uid = IdLayout.shard(id);
        router.write(uid, tx -> insert(tx.connection(), tx.schema(), uid));
    }

    private static long select(Connection connection, String schema, long id) throws SQLException {
        return number(connection, SELECT.formatted(schema), id);
    }

    private static long insert(Connection connection, String schema, long uid) throws SQLException {
        return number(connection, INSERT.formatted(schema), uid);
    }

    private static long number(Connection connection, String sql, long parameter) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setLong(1, parameter);
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }
}
