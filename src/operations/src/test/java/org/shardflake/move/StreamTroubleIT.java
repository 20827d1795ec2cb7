/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;
import org.shardflake.replication.Replication;
import org.shardflake.replication.StreamTrouble;
import org.shardflake.server.ServerUrl;

/** A subscription that fails is said to, long before patience runs out: that is 10 minutes here. */
@Tag("full")
@Timeout(180)
class StreamTroubleIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final List<String> told = new CopyOnWriteArrayList<>();
    private AccountShards shards;
    private Mover mover;
    private Move move;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 4, directory);
        mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        move = mover.record("db1", "db2", ShardSet.of(3), "a test");
    }

    private interface Damage {
        void run(String stream) throws SQLException;
    }

    private Mover damaging(MoveStep when, Damage damage) {
        return shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == when) {
                    try {
                        damage.run("shardflake_" + move.tag() + "_forward");
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                }
            }

            @Override
            public void streamFails(String problem) {
                told.add(problem);
            }
        });
    }

    private void failsWith(Mover damaged, String... parts) throws SQLException {
        assertThatThrownBy(() -> damaged.follow(move.id()))
                .isInstanceOf(MoveException.class)
                .hasMessageContainingAll(parts);
        assertThat(told).isNotEmpty();
        assertThat(told.get(0)).contains(parts);
        mover.cancel(move.id(), Mover.End.BACK);
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    @Test
    void aSlotThatIsGone() throws SQLException {
        failsWith(
                damaging(MoveStep.SUBSCRIBED, stream -> {
                    try (Connection db1 = shards.database("db1").connect()) {
                        Replication.dropSlot(db1, stream);
                    }
                }),
                "db1 has no replication slot shardflake_" + move.tag() + "_forward");
    }

    @Test
    void aRowThatIsThereAlready() throws SQLException {
        failsWith(
                damaging(MoveStep.SHARD_COPIED, stream -> {
                    shards.execute("db1", "INSERT INTO shard_0003.tag VALUES (1, 'twice')");
                    shards.execute(
                            "db2",
                            "SET session_replication_role = replica; INSERT INTO shard_0003.tag VALUES (1, 'twice')");
                }),
                "db2 could not apply what db1 sent",
                "its log says why");
    }

    @Test
    void aServerThatCannotBeReachedFromTheOther() throws SQLException {
        failsWith(
                damaging(MoveStep.SUBSCRIBED, stream -> {
                    shards.execute(
                            "db2",
                            "ALTER SUBSCRIPTION %s CONNECTION 'host=127.0.0.1 port=1 dbname=none'".formatted(stream));
                    shards.execute(
                            "db2",
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_subscription WHERE subname = '%s'"
                                    .formatted(stream));
                }),
                "db2 cannot connect to db1",
                "Connection refused");
    }

    @Test
    void aPasswordThatIsNotTheServers() throws SQLException {
        String file;
        String rules;
        try (Connection db1 = shards.database("db1").connect()) {
            file = Sql.text(db1, "SELECT current_setting('hba_file')");
            rules = Sql.text(db1, "SELECT pg_read_file(current_setting('hba_file'))");
        }
        shards.execute("db1", "CREATE ROLE carrier SUPERUSER LOGIN PASSWORD 'another'");
        writeRules(file, "host all carrier all scram-sha-256\n" + rules);
        try {
            failsWith(
                    damaging(MoveStep.SUBSCRIBED, stream -> {
                        String conninfo = shards.url("db1").conninfo() + " user='carrier' password='stored'";
                        shards.execute(
                                "db2", "ALTER SUBSCRIPTION %s CONNECTION %s".formatted(stream, Sql.quote(conninfo)));
                        shards.execute(
                                "db2",
                                "SELECT pg_terminate_backend(pid) FROM pg_stat_subscription WHERE subname = '%s'"
                                        .formatted(stream));
                    }),
                    "db2 cannot connect to db1",
                    "password authentication failed for user \"carrier\"");
        } finally {
            writeRules(file, rules);
            shards.execute("db1", "DROP ROLE carrier");
        }
    }

    private void writeRules(String file, String rules) throws SQLException {
        shards.execute(
                "db1",
                "COPY (SELECT unnest(string_to_array(%s, chr(10)))) TO %s; SELECT pg_reload_conf()"
                        .formatted(Sql.quote(rules), Sql.quote(file)));
    }

    @Test
    void aSubscriptionThatWasDisabled() throws SQLException {
        failsWith(
                damaging(
                        MoveStep.SUBSCRIBED,
                        stream -> shards.execute("db2", "ALTER SUBSCRIPTION %s DISABLE".formatted(stream))),
                "is disabled on db2");
    }

    @Test
    void statusShowsIt() throws SQLException {
        mover.follow(move.id());
        String stream = "shardflake_" + move.tag() + "_forward";
        shards.execute("db2", "ALTER SUBSCRIPTION %s DISABLE".formatted(stream));

        MoveStatus status = mover.status(mover.move(move.id()));

        assertThat(status.forward().problem()).contains("is disabled on db2");
        assertThat(status.reverse().problem()).isEmpty();
        mover.cancel(move.id(), Mover.End.BACK);
    }

    /** How many workers there are is what a server is started with, so on one of its own, which follows itself. */
    @Test
    @Tag("full")
    void noWorkerIsLeft() throws SQLException {
        assumeTrue(postgres.database(0).server().canRestart(), "needs servers that the tests start themselves");
        try (PostgresCluster cluster = PostgresCluster.builder()
                        .servers(1)
                        .setting("max_logical_replication_workers", "0")
                        .start();
                Connection connection = cluster.server(0).connect()) {
            String conninfo = ServerUrl.parse(cluster.server(0).uri("postgres")).conninfo();
            Sql.execute(connection, "CREATE PUBLICATION follows; CREATE TABLE t (id bigint PRIMARY KEY)");
            Sql.call(connection, "SELECT pg_create_logical_replication_slot('follows', 'pgoutput')");
            Sql.execute(
                    connection,
                    "CREATE SUBSCRIPTION follows CONNECTION %s PUBLICATION follows WITH (create_slot = false)"
                            .formatted(Sql.quote(conninfo)));
            StreamTrouble.Side both = new StreamTrouble.Side("db1", connection);

            assertThat(StreamTrouble.find("follows", both, both, 0, conninfo)).hasValueSatisfying(trouble -> {
                assertThat(trouble.what())
                        .startsWith("db1 has no worker left to follow follows: max_logical_replication_workers is 0, ");
                assertThat(trouble.outlook()).isEqualTo(StreamTrouble.Outlook.WAITING);
            });
        }
    }
}
