/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.changes.ChangeStream;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.cluster.PostgresStandby;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.install.Installation;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.CatalogSchema;
import org.shardflake.sql.FunctionLibrary;

/** A server fails over to a standby that has kept the reader's slot, as PostgreSQL 17 and later can. */
@Tag("full")
class ReaderFailoverIT {

    private static final String SLOT =
            "SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'shardflake_cdc_kept'";

    @TempDir
    Path directory;

    @Test
    void theReaderContinuesOnAStandbyThatHasKeptItsSlot() throws Exception {
        try (PostgresCluster cluster = PostgresCluster.start(2)) {
            PostgresServer failing = cluster.server(1);
            assumeTrue(failing.majorVersion() >= 17, "slots fail over since PostgreSQL 17");
            PostgresStandby standby = keepingSlots(cluster, failing);
            ServerUrl catalog = ServerUrl.parse(cluster.server(0).uri("postgres"));
            ServerUrl both = ServerUrl.parse(standby.uriOfBoth("postgres"));
            install(catalog, both);

            List<String> read = new ArrayList<>();
            String positions;
            try (ChangeReader reader = ChangeReader.begin(catalog, server -> both, "kept")) {
                write(failing, 0);
                read(reader, read, 100);
                await(reader, failing, standby);
                write(failing, 100);
                read(reader, read, 150); // in the middle of a transaction

                failing.crash();
                standby.promote();

                write(standby, 200);
                read(reader, read, 250);
                positions = reader.positions();
                write(standby, 300);
                read(reader, read, 400);
            }
            // One that had stored less begins there.
            try (ChangeReader reader = ChangeReader.open(catalog, server -> both, "kept", positions)) {
                List<String> again = new ArrayList<>(read.subList(0, 250));
                read(reader, again, 400);
                assertThat(again).isEqualTo(read);
            }
            assertThat(read).doesNotHaveDuplicates().hasSize(400);
            assertThat(read.stream().map(change -> Integer.valueOf(change.substring(change.indexOf(' ') + 1))))
                    .isSorted();
        }
    }

    /** A standby that has what the reader was sent, and keeps slots. */
    private static PostgresStandby keepingSlots(PostgresCluster cluster, PostgresServer failing) throws SQLException {
        PostgresStandby standby = cluster.standbyOf(failing);
        String conninfo = query(standby, "SELECT current_setting('primary_conninfo')") + " dbname=postgres";
        for (String setting : List.of(
                "primary_conninfo = '%s'".formatted(conninfo),
                "hot_standby_feedback = on",
                "sync_replication_slots = on")) {
            execute(standby, "ALTER SYSTEM SET " + setting);
        }
        execute(standby, "SELECT pg_reload_conf()");
        execute(failing, "ALTER SYSTEM SET synchronous_standby_names = '*'");
        execute(failing, "ALTER SYSTEM SET synchronized_standby_slots = 'standby_%s'".formatted(standby.name()));
        execute(failing, "SELECT pg_reload_conf()");
        return standby;
    }

    private void install(ServerUrl catalog, ServerUrl server) throws Exception {
        try (Connection connection = catalog.connect("a test")) {
            CatalogSchema.deploy(connection);
        }
        try (Connection connection = server.connect("a test")) {
            FunctionLibrary.deploy(connection);
        }
        Server db1 = new Server("db1", "postgresql://%s/postgres".formatted(server.hosts()));
        ShardCatalog.at(catalog)
                .initialize(
                        ShardMap.initial(new Sharding(1), IdLayout.DEFAULT, List.of(db1), Spread.CONTIGUOUS), "a test");
        Path changelog = Files.writeString(directory.resolve("notes.sql"), """
                --liquibase formatted sql
                --changeset ann:note
                CREATE TABLE note (id bigint PRIMARY KEY, n bigint NOT NULL);
                """);
        new Installation(catalog, its -> server).deploy(changelog, DeploySettings.defaults(directory), done -> {});
        new ChangeStream(catalog, its -> server, voice -> {}).create();
    }

    /** A hundred rows, in two transactions. */
    private static void write(PostgresServer server, int from) throws SQLException {
        for (int begin : List.of(from, from + 50)) {
            execute(
                    server,
                    "INSERT INTO shard_0000.note (n) SELECT n FROM generate_series(%s, %s) n"
                            .formatted(begin, begin + 49));
        }
    }

    private static void read(ChangeReader reader, List<String> read, int until) {
        while (read.size() < until) {
            Change change = reader.poll(Duration.ofMinutes(5)).orElseThrow();
            read.add("%s %s".formatted(change.id(), change.row().get("n")));
        }
    }

    /** Until the standby has the slot. It keeps it when the reader has confirmed what came after two snapshots of running transactions. */
    private static void await(ChangeReader reader, PostgresServer failing, PostgresServer standby) throws Exception {
        long until = System.nanoTime() + TimeUnit.MINUTES.toNanos(5);
        while (query(standby, SLOT + " AND synced AND NOT temporary").equals("0")) {
            assertThat(System.nanoTime()).isLessThan(until);
            execute(failing, "SELECT pg_log_standby_snapshot()");
            assertThat(reader.poll(Duration.ofMillis(100))).isEmpty();
            reader.confirm(reader.positions());
        }
    }

    private static void execute(PostgresServer server, String sql) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static String query(PostgresServer server, String sql) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }
}
