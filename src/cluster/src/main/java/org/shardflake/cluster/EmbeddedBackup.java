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
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A backup in a directory next to the server's data, with an archive. */
final class EmbeddedBackup implements PostgresBackup {

    /** The settings for archiving; commands run in the data directory. */
    static final Map<String, String> ARCHIVING = Map.of(
            "archive_mode",
            "on",
            "archive_command",
            "mkdir -p ../archive && test ! -f ../archive/%f && cp %p ../archive/%f");

    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final EmbeddedServer server;
    private final Path copy;

    private EmbeddedBackup(EmbeddedServer server) {
        this.server = server;
        this.copy = server.directory().resolve("backup");
    }

    static EmbeddedBackup take(EmbeddedServer server) {
        EmbeddedBackup backup = new EmbeddedBackup(server);
        Directories.delete(backup.copy);
        try (Connection connection = server.connect()) {
            BaseBackup.take(connection, server.data(), backup.copy, true);
        } catch (IOException | SQLException e) {
            throw new PostgresClusterException("cannot back up " + server + ": " + e, e);
        }
        return backup;
    }

    @Override
    public void restore(String restorePoint) throws SQLException {
        archiveAll();
        server.crash();
        Directories.delete(server.data());
        try {
            BaseBackup.copy(copy, server.data());
            // Which a copy of a running server must not take along, and this one must.
            Files.copy(copy.resolve("backup_label"), server.data().resolve("backup_label"));
            StringBuilder configuration = new StringBuilder("\n");
            EmbeddedServer.append(configuration, "restore_command", "cp ../archive/%f %p");
            EmbeddedServer.append(configuration, "recovery_target_name", restorePoint);
            EmbeddedServer.append(configuration, "recovery_target_action", "promote");
            Files.writeString(server.data().resolve("postgresql.conf"), configuration, StandardOpenOption.APPEND);
            Files.createFile(server.data().resolve("recovery.signal"));
        } catch (IOException e) {
            throw new PostgresClusterException("cannot restore " + server + ": " + e, e);
        }
        server.start();
        try (Connection connection = server.connect()) {
            await(connection, "SELECT NOT pg_is_in_recovery()");
        }
    }

    private void archiveAll() throws SQLException {
        try (Connection connection = server.connect()) {
            String file = text(connection, "SELECT pg_walfile_name(pg_switch_wal())");
            await(connection, "SELECT last_archived_wal >= '" + file + "' FROM pg_stat_archiver");
        }
    }

    private void await(Connection connection, String condition) throws SQLException {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (!"t".equals(text(connection, condition))) {
            if (System.nanoTime() > deadline) {
                throw new PostgresClusterException(
                        "%s is not so far after %s: %s%s".formatted(server, TIMEOUT, condition, server.logTail()));
            }
            text(connection, "SELECT pg_sleep(0.02)");
        }
    }

    private static @Nullable String text(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }
}
