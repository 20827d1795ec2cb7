/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.debezium;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cdc.ShardOrder;
import org.shardflake.changes.ChangeStream;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.move.AccountShards;
import org.shardflake.router.ShardRouter;

/** An engine for each server, all in one process, which is killed after each round; and servers crash in cutovers. */
@Timeout(value = 3, unit = TimeUnit.HOURS)
class DebeziumIT {

    private static final int ROUNDS = Integer.getInteger("debezium.rounds", 3);
    private static final int SERVERS = Integer.getInteger("debezium.servers", 2);
    private static final List<String> NAMES =
            IntStream.rangeClosed(1, SERVERS).mapToObj(i -> "db" + i).toList();

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(SERVERS + 1);

    @TempDir
    Path directory;

    private AccountShards shards;
    private PlainDatabase sink;

    @SuppressWarnings("NullAway.Init") // by the test
    private Process consumer;

    private int kills;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, SERVERS, PlainDatabase.SHARDS, directory);
        new ChangeStream(shards.catalogUrl(), server -> shards.url(server.name()), voice -> {}).create();
        for (String server : NAMES) {
            shards.execute(
                    server, "SELECT pg_create_logical_replication_slot('%s', 'pgoutput')".formatted(Engines.SLOT));
        }
        sink = PlainDatabase.create(postgres.database(SERVERS).connect(), ShardOrder.begin(shards.catalogUrl()));
    }

    @AfterEach
    void stop() throws InterruptedException {
        if (consumer != null) {
            consumer.destroyForcibly().waitFor();
        }
    }

    @Test
    void equalThroughMovesReversesAndKills() throws Exception {
        startConsumer();
        Work work;
        try (ShardRouter router = ShardRouter.builder()
                .catalog(postgres.database(SERVERS).uri())
                .credentials(
                        postgres.database(SERVERS).user(),
                        postgres.database(SERVERS).password())
                .build()) {
            work = new Work(router, shards, NAMES, new Random(), this::crash);
            work.run(ROUNDS, this::kill);
        }
        assertThat(consumer.waitFor(30, TimeUnit.MINUTES)).as(log()).isTrue();
        assertThat(consumer.exitValue()).as(log()).isZero();
        sink.rollBack();
        sink.compare(shards);
        System.out.printf("%s servers, %s, %s kills of the consumer, %s%n", SERVERS, work, kills, sink.counts());
    }

    private void crash(String server) {
        PostgresServer its = shards.database(server).server();
        its.crash();
        its.start();
    }

    /** When it has applied something since it began. */
    private void kill() {
        try {
            long before = applied();
            long until = System.nanoTime() + TimeUnit.MINUTES.toNanos(5);
            while (applied() < before + 100) {
                assertThat(consumer.isAlive() && System.nanoTime() < until)
                        .as(log())
                        .isTrue();
                TimeUnit.MILLISECONDS.sleep(50);
            }
            consumer.destroyForcibly().waitFor();
            kills++;
            startConsumer();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private long applied() throws SQLException {
        return shards.catalogNumber("SELECT count(*) FROM sink.seen");
    }

    private void startConsumer() throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx512m",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                Engines.class.getName(),
                directory.toString(),
                postgres.database(SERVERS).uri()));
        for (int i = 0; i < SERVERS; i++) {
            command.add(postgres.database(i).uri());
        }
        consumer = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(
                        directory.resolve("log").toFile()))
                .start();
    }

    private String log() {
        try {
            String log = Files.readString(directory.resolve("log"), UTF_8);
            return log.substring(Math.max(0, log.length() - 20_000));
        } catch (Exception e) {
            return e.toString();
        }
    }
}
