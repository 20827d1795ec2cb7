/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;
import org.shardflake.sql.FunctionLibrary;

/**
 * Whole moves, verification included, beside {@code pg_dump -Fd -j2} and {@code pg_restore -j2} of the same shards between the same
 * servers, in turn. Prints seconds and their ratio. It needs pg_dump and pg_restore of the servers' version: run it with {@code
 * ./mvnw -pl generator-cli -am verify -DskipITs -Dtest=MoveCost -Dsurefire.failIfNoSpecifiedTests=false -Dmove.benchmark
 * -Dpostgres.version=15}, for PostgreSQL 15's.
 */
@EnabledIfSystemProperty(named = "move.benchmark", matches = ".*")
class MoveCost {

    private static final int SHARDS = 50;
    private static final int ROUNDS = 3;
    private static final int ROWS = Integer.getInteger("move.rows", 40_000);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    @Test
    void besideDumpAndRestore() throws Exception {
        AccountShards shards = AccountShards.create(postgres, 2, SHARDS, directory);
        try {
            ShardSet all = ShardSet.range(0, SHARDS - 1);
            fill(shards);
            long bytes = shards.number(
                    "db1",
                    "SELECT sum(pg_table_size(c.oid))::bigint FROM pg_class c WHERE relnamespace::regnamespace::text ~ '^shard_' AND relkind = 'r'");
            System.out.printf("%d shards, %,d MB of tables%n", SHARDS, bytes >> 20);
            List<Double> ratios = new ArrayList<>();
            for (int round = 0; round < ROUNDS; round++) {
                String source = round % 2 == 0 ? "db1" : "db2";
                String target = round % 2 == 0 ? "db2" : "db1";
                double dump = dumpAndRestore(shards, source, target);
                double move = move(shards, source, target, all);
                ratios.add(dump / move);
                System.out.printf(
                        "dump and restore %.1f s, move %.1f s (%.1f MB/s), ratio %.2f%n",
                        dump, move, bytes / move / (1 << 20), dump / move);
            }
            ratios.sort(null);
            System.out.printf(
                    "a move is %.2f times as fast as dump and restore (median of %d)%n",
                    ratios.get(ROUNDS / 2), ROUNDS);
        } finally {
            shards.drop();
        }
    }

    private static void fill(AccountShards shards) throws SQLException {
        for (int shard = 0; shard < SHARDS; shard++) {
            String schema = "shard_%04d".formatted(shard);
            shards.execute("db1", """
                    INSERT INTO %1$s.account (uid, balance, note) SELECT %2$d + %3$d * n, n, repeat(md5(n::text), 8) FROM generate_series(1, %4$d) n;
                    INSERT INTO %1$s.entry (account_id, amount, key) SELECT id, balance, gen_random_uuid() FROM %1$s.account
                    """.formatted(schema, shard, SHARDS, ROWS));
        }
        shards.execute("db1", "VACUUM ANALYZE");
        shards.execute("db1", "CHECKPOINT");
    }

    private double move(AccountShards shards, String source, String target, ShardSet all) throws SQLException {
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        long start = System.nanoTime();
        Move move = mover.follow(mover.create(source, target, all, "").id());
        double copied = (System.nanoTime() - start) / 1e9;
        move = mover.cutOver(move.id(), all);
        assertThat(move.shards()).allMatch(shard -> shard.verified().equals("at cutover"));
        double cutOver = (System.nanoTime() - start) / 1e9;
        mover.complete(move.id());
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf(
                "copied after %.1f s, cut over and compared after %.1f s, completed after %.1f s%n",
                copied, cutOver, seconds);
        return seconds;
    }

    private double dumpAndRestore(AccountShards shards, String source, String target) throws Exception {
        PostgresServer server = shards.database(target).server();
        try (Connection connection = server.connect()) {
            Sql.execute(connection, "DROP DATABASE IF EXISTS restored");
            Sql.execute(connection, "CREATE DATABASE restored");
        }
        try (Connection connection = server.connect("restored")) {
            FunctionLibrary.deploy(connection);
        }
        Path dump = directory.resolve("dump");
        long start = System.nanoTime();
        run(
                "pg_dump",
                "-Fd",
                "-j2",
                "-n",
                "shard_*",
                "-f",
                dump.toString(),
                shards.database(source).uri());
        run("pg_restore", "-j2", "-d", server.uri("restored"), dump.toString());
        double seconds = (System.nanoTime() - start) / 1e9;
        delete(dump);
        try (Connection connection = server.connect()) {
            Sql.execute(connection, "DROP DATABASE restored");
        }
        return seconds;
    }

    private static void run(String... command) throws Exception {
        assertThat(new ProcessBuilder(command).inheritIO().start().waitFor())
                .as(String.join(" ", command))
                .isZero();
    }

    private static void delete(Path dump) throws IOException {
        try (Stream<Path> files = Files.list(dump)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(dump);
    }
}
