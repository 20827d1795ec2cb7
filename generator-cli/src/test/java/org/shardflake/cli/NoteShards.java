/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.cluster.SavedServers;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.server.MoveServer;
import org.shardflake.server.ServerUrl;

/**
 * Notes in four shards, 0 and 1 on db1, 2 and 3 on db2, of servers that fail over.
 *
 * @param catalog the catalog's URL
 * @param urls of db1 and db2
 */
record NoteShards(String catalog, Map<String, String> urls) {

    private static final String CHANGELOG = """
            --liquibase formatted sql
            --changeset ann:note
            CREATE TABLE note (id bigint PRIMARY KEY, text text);
            """;

    private static final String IDS = """
            --changeset ann:note_ids runWith:jdbc splitStatements:false
            SELECT shardflake.add_id_sequence('note', 'id');
            """;

    /** Creates them, with ids that the database draws. */
    void create(Path directory) throws IOException {
        create(directory, CHANGELOG + IDS);
    }

    /**
     * The notes on three servers that are stopped: the catalog's, db1 and db2. Tests that crash servers begin with copies of them, and
     * with {@link #areHere}.
     */
    static SavedServers saved(Path directory, boolean withIds) throws IOException {
        PostgresCluster cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(3)
                .setting("wal_retrieve_retry_interval", "100ms")
                .setting("wal_receiver_status_interval", "1s")
                .start();
        new NoteShards(
                        cluster.server(0).uri("postgres"),
                        Map.of(
                                "db1", cluster.server(1).uri("postgres"),
                                "db2", cluster.server(2).uri("postgres")))
                .create(directory, withIds ? CHANGELOG + IDS : CHANGELOG);
        return SavedServers.of(cluster);
    }

    /** Tells the catalog, a copy, where the servers are. */
    void areHere() throws SQLException {
        try (Connection connection = ServerUrl.parse(catalog).connect("a test");
                PreparedStatement update =
                        connection.prepareStatement("UPDATE shardflake_catalog.server SET url = ? WHERE name = ?")) {
            for (Map.Entry<String, String> server : urls.entrySet()) {
                update.setString(1, server.getValue());
                update.setString(2, server.getKey());
                assertThat(update.executeUpdate()).isOne();
            }
        }
    }

    private void create(Path directory, String text) throws IOException {
        succeed("init", "--shards=4", "--server=db1=" + url("db1"), "--server=db2=" + url("db2"));
        Path changelog = Files.writeString(directory.resolve("notes.sql"), text);
        succeed("schema", "deploy", "--no-checks", "--changelog=" + changelog, "--search-path=" + directory);
    }

    private String url(String server) {
        return Objects.requireNonNull(urls.get(server));
    }

    Result launch(String... args) {
        return Cli.launch(InputStream.nullInputStream(), Map.of("SHARDFLAKE_CATALOG", catalog), args);
    }

    void succeed(String... args) {
        Result result = launch(args);
        assertThat(result.exitCode()).as(result.toString()).isZero();
    }

    void fails(int exitCode, String message, String... args) {
        Result result = launch(args);
        assertThat(result.exitCode()).as(result.toString()).isEqualTo(exitCode);
        assertThat(result.err()).contains(message);
    }

    Mover mover(MoveListener listener) {
        return mover(MoveSettings.DEFAULT.patience(), listener);
    }

    Mover mover(Duration patience, MoveListener listener) {
        MoveSettings usual = MoveSettings.DEFAULT;
        return new Mover(
                ServerUrl.parse(catalog),
                name -> new MoveServer(name, ServerUrl.parse(url(name))),
                new MoveSettings(
                        usual.jobs(),
                        usual.partSize(),
                        usual.bytesPerSecond(),
                        usual.pausesPerMinute(),
                        usual.maxLag(),
                        usual.pause(),
                        usual.lockTimeout(),
                        patience,
                        usual.verify()),
                listener);
    }

    static void execute(PostgresServer server, String sql) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** The first value of the first row. */
    static String query(PostgresServer server, String sql) throws SQLException {
        try (Connection connection = server.connect()) {
            return query(connection, sql);
        }
    }

    static String query(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return String.valueOf(row.getString(1));
        }
    }

    static long number(PostgresServer server, String sql) throws SQLException {
        return Long.parseLong(query(server, sql));
    }

    /** Nothing of a move is left on a server: of slots, those of this database, since others may be standbys'. */
    static void isEnded(Connection connection) throws SQLException {
        assertThat(
                        query(
                                connection,
                                "SELECT concat_ws(' ', (SELECT string_agg(pubname, ' ') FROM pg_publication), (SELECT string_agg(subname, ' ') FROM pg_subscription WHERE subdbid = d.oid), (SELECT string_agg(slot_name, ' ') FROM pg_replication_slots WHERE database = d.datname)) FROM pg_database d WHERE datname = current_database()"))
                .isEmpty();
    }

    static void isEnded(PostgresServer server) throws SQLException {
        try (Connection connection = server.connect()) {
            isEnded(connection);
        }
    }
}
