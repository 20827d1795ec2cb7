/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.jdbc.Sql;

/** Servers whose disk is full: file systems in memory, which only root may mount. */
@Tag("full")
@Timeout(300)
class FullDiskIT {

    private static final String DATABASE = "app";
    private static final int SHARD = 1;

    private static final MoveSettings SETTINGS = new MoveSettings(
            2,
            1 << 30,
            0,
            0,
            Duration.ofSeconds(10),
            Duration.ofMillis(90),
            Duration.ofMillis(30),
            Duration.ofSeconds(20),
            true);

    @TempDir
    Path directory;

    private PostgresCluster cluster;
    private AccountShards shards;

    @SuppressWarnings("NullAway.Init") // by a test
    private SmallDisk disk;

    @BeforeEach
    void start() throws Exception {
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(3)
                .setting("wal_retrieve_retry_interval", "200ms")
                .setting("max_wal_size", "64MB")
                .start();
        for (PostgresServer server : cluster.servers()) {
            try (Connection connection = server.connect()) {
                Sql.execute(connection, "CREATE DATABASE " + DATABASE);
            }
        }
        shards = AccountShards.of(
                List.of(
                        TestDatabase.existing(cluster.server(0), DATABASE),
                        TestDatabase.existing(cluster.server(1), DATABASE)),
                TestDatabase.existing(cluster.server(2), DATABASE));
        shards.deploy(2, directory);
    }

    @AfterEach
    void stop() throws Exception {
        if (disk != null) {
            disk.close();
        }
        cluster.close();
    }

    private static final String INSERT = "INSERT INTO shard_0001.account (uid, note) VALUES (1, ?) RETURNING id";

    /** Adds the ids of what the source acknowledged, until it refuses or all rows are there. */
    private void insert(int rows, int bytes, List<Long> acknowledged) throws SQLException {
        byte[] note = new byte[bytes];
        Random random = new Random(7);
        try (Connection connection = shards.database("db1").connect();
                PreparedStatement insert = connection.prepareStatement(INSERT)) {
            for (int i = 0; i < rows; i++) {
                random.nextBytes(note);
                insert.setString(1, Base64.getEncoder().encodeToString(note)); // which does not compress much
                try (ResultSet row = insert.executeQuery()) {
                    row.next();
                    acknowledged.add(row.getLong(1));
                }
            }
        }
    }

    private List<Long> insertSome() throws SQLException {
        List<Long> acknowledged = new ArrayList<>();
        insert(10, 10, acknowledged);
        return acknowledged;
    }

    @Test
    void aTargetThatFillsFailsTheMoveAloneAndTheSameMoveGoesOnWhenThereIsRoom() throws Exception {
        shards.execute(
                "db1",
                "INSERT INTO shard_0001.account (uid, note) SELECT 1, string_agg(md5(n::text || m), '') FROM generate_series(1, 20000) n, generate_series(1, 200) m GROUP BY n");
        disk = SmallDisk.of(cluster.server(1), "140m");
        List<String> told = new CopyOnWriteArrayList<>();
        Mover mover = shards.mover(SETTINGS, new MoveListener() {
            @Override
            public void interrupted(String problem) {
                told.add(problem);
            }
        });
        Move move = mover.beginOrResume("db1", "db2", ShardSet.of(SHARD), "a test");

        assertThatThrownBy(() -> mover.carryOut(move, false)).isInstanceOf(ShardflakeException.class);
        assertThat(told).isNotEmpty().allSatisfy(problem -> assertThat(problem).contains("db2 ("));

        List<Long> meanwhile = insertSome();
        disk.makeRoom();
        mover.carryOut(move, false);
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0001.account"))
                .isEqualTo(20_000 + meanwhile.size());
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    /** The slot of a move keeps the log, since its target is gone. */
    @Test
    void aSourceThatFillsLosesNothingAndCancellingTheMoveLetsGoOfTheLog() throws Exception {
        disk = SmallDisk.of(cluster.server(0), "200m");
        Mover mover = shards.mover(SETTINGS, MoveListener.NONE);
        Move move = mover.beginOrResume("db1", "db2", ShardSet.of(SHARD), "a test");
        mover.follow(move.id());
        cluster.server(1).crash();

        List<Long> acknowledged = new ArrayList<>();
        assertThatThrownBy(() -> insert(20_000, 100_000, acknowledged))
                .isInstanceOf(SQLException.class)
                .hasMessageMatching("(?s).*(No space left|terminat|closed|I/O error).*");
        disk.makeRoom();
        assertThat(shards.number("db1", "SELECT pg_current_wal_lsn() - restart_lsn FROM pg_replication_slots"))
                .isGreaterThan(50_000_000);
        mover.cancelWithoutTarget(move.id());

        assertThat(shards.number("db1", "SELECT count(*) FROM pg_replication_slots"))
                .isZero();

        try (Connection db1 = shards.database("db1").connect()) {
            assertThat(Sql.list(db1, "SELECT id FROM shard_0001.account", row -> row.getLong(1)))
                    .containsAll(acknowledged);
        }
        assertThat(insertSome())
                .doesNotContainAnyElementsOf(acknowledged)
                .allMatch(id -> id > acknowledged.get(acknowledged.size() - 1));
    }
}
