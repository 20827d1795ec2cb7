/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.shardflake.sql.Shards.queryLong;
import static org.shardflake.sql.Shards.queryLongs;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresServer;

/** A server of its own, shut down with no checkpoint and no goodbye while sessions draw ids. */
class CrashIT {

    private static final int SESSIONS = 4;

    private static PostgresCluster cluster;
    private static PostgresServer server;

    @BeforeAll
    static void start() throws SQLException {
        cluster = PostgresCluster.start(1);
        server = cluster.server(0);
        if (!server.canRestart()) {
            return; // the test says so
        }
        try (Connection connection = server.connect()) {
            Shards.deployWithPhotos(connection);
        }
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    @Test
    void neverRepeatsAnIdThatAnyoneSawBeforeTheCrash() throws Exception {
        neverRepeatsOver(5);
    }

    @Test
    @Tag("full")
    void neverRepeatsAnIdThatAnyoneSawBeforeOneOfTwentyCrashes() throws Exception {
        neverRepeatsOver(20);
    }

    private static void neverRepeatsOver(int crashes) throws Exception {
        assumeTrue(server.canRestart(), "a server given by URL cannot be crashed");
        List<IdLog> seen = new ArrayList<>();
        for (int crash = 0; crash < crashes; crash++) {
            seen.addAll(drawUntilCrash());
            server.start();
        }

        long[] sorted = IdLog.sorted(seen);
        assertThat(sorted).hasSizeGreaterThan(crashes * SESSIONS);
        assertThat(IdLog.duplicates(sorted)).as("ids seen twice by clients").isZero();
        try (Connection connection = server.connect()) {
            assertThat(queryLong(connection, "SELECT count(*) FROM shard_0007.photo"))
                    .isPositive();
        }
    }

    /** Sessions of three kinds: rows committed, ids only read, and ids of a transaction that never ends. */
    private static List<IdLog> drawUntilCrash() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(SESSIONS);
        CountDownLatch drawing = new CountDownLatch(SESSIONS);
        List<Future<IdLog>> futures = new ArrayList<>();
        for (int session = 0; session < SESSIONS; session++) {
            String sql = session % 2 == 0
                    ? "INSERT INTO shard_0007.photo SELECT FROM generate_series(1, 10) RETURNING id"
                    : "SELECT shardflake.next_id(7, 'shard_0007.photo_id_seq')";
            boolean commit = session < 3;
            futures.add(threads.submit(() -> {
                IdLog log = new IdLog();
                try (Connection connection = server.connect()) {
                    connection.setAutoCommit(commit);
                    log.addAll(queryLongs(connection, sql));
                    drawing.countDown();
                    while (true) {
                        log.addAll(queryLongs(connection, sql));
                    }
                } catch (SQLException e) {
                    assertThat(e.getSQLState()).as(e.getMessage()).isIn("57P01", "57P02", "08006", "08003");
                }
                return log;
            }));
        }
        drawing.await();
        Thread.sleep(ThreadLocalRandom.current().nextInt(50));
        server.crash();
        threads.shutdown();
        List<IdLog> logs = new ArrayList<>();
        for (Future<IdLog> future : futures) {
            logs.add(future.get());
        }
        logs.forEach(IdLog::assertIncreasing);
        return logs;
    }
}
