/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalInt;

/** A standby created from a {@link BaseBackup} of its primary. */
final class EmbeddedStandby extends EmbeddedServer implements PostgresStandby {

    private static final Duration REPLAY_TIMEOUT = Duration.ofSeconds(60);

    private final EmbeddedServer primary;

    EmbeddedStandby(
            String name,
            EmbeddedServer primary,
            EmbeddedBinaries binaries,
            Path directory,
            int port,
            OptionalInt version,
            Map<String, String> environment) {
        super(name, binaries, directory, port, version, Map.of(), environment);
        this.primary = primary;
    }

    @Override
    void initialize() {
        String slot = "standby_" + name();
        try (Connection connection = primary.connect()) {
            call(connection, "SELECT pg_create_physical_replication_slot(?, true)", slot);
            BaseBackup.take(connection, primary.data(), data(), false);
            StringBuilder configuration = new StringBuilder("\n");
            append(configuration, "port", Integer.toString(port()));
            append(
                    configuration,
                    "primary_conninfo",
                    "host=%s port=%s user=%s application_name=%s"
                            .formatted(primary.host(), primary.port(), primary.user(), name()));
            append(configuration, "primary_slot_name", slot);
            append(configuration, "hot_standby", "on");
            Files.writeString(data().resolve("postgresql.conf"), configuration, StandardOpenOption.APPEND);
            Files.createFile(data().resolve("standby.signal"));
        } catch (IOException | SQLException e) {
            throw new PostgresClusterException("cannot make a standby of " + primary + ": " + e, e);
        }
    }

    @Override
    public void pauseReplay() throws SQLException {
        try (Connection connection = connect()) {
            call(connection, "SELECT pg_wal_replay_pause()");
            await(connection, "SELECT pg_get_wal_replay_pause_state() = 'paused'");
        }
    }

    @Override
    public void resumeReplay() throws SQLException {
        try (Connection connection = connect()) {
            call(connection, "SELECT pg_wal_replay_resume()");
        }
    }

    @Override
    public void awaitReplay() throws SQLException {
        String written;
        try (Connection connection = primary.connect()) {
            // A commit that does not wait for the disk is inserted first, and written a moment later.
            written = text(connection, "SELECT pg_current_wal_insert_lsn()");
        }
        try (Connection connection = connect()) {
            await(connection, "SELECT pg_last_wal_replay_lsn() >= ?::pg_lsn", written);
        }
    }

    @Override
    public void disconnect() throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("ALTER SYSTEM SET primary_conninfo = ''");
            statement.execute("SELECT pg_reload_conf()");
            await(connection, "SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver)");
        }
    }

    @Override
    public String uriOfBoth(String database) {
        String other = "," + primary.host() + ":" + primary.port();
        return uri(database).replaceFirst("(?=/[^/]*$)", other);
    }

    @Override
    public void promote() {
        pgCtl("promote", "-w", "-t", "60");
    }

    private void await(Connection connection, String condition, String... parameters) throws SQLException {
        long deadline = System.nanoTime() + REPLAY_TIMEOUT.toNanos();
        while (!"t".equals(text(connection, condition, parameters))) {
            if (System.nanoTime() > deadline) {
                throw new PostgresClusterException(
                        "%s is not so far after %s: %s%s".formatted(this, REPLAY_TIMEOUT, condition, logTail()));
            }
            call(connection, "SELECT pg_sleep(0.01)");
        }
    }

    private static void call(Connection connection, String sql, String... parameters) throws SQLException {
        text(connection, sql, parameters);
    }

    private static String text(Connection connection, String sql, String... parameters) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < parameters.length; i++) {
                statement.setString(i + 1, parameters[i]);
            }
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return String.valueOf(row.getString(1));
            }
        }
    }
}
