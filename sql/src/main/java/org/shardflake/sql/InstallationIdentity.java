/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;

/**
 * The identity of an installation: the id that its catalog was given, and the number of its shards. Every server of the installation
 * remembers it, so that no other installation takes the server for its own.
 */
public record InstallationIdentity(UUID id, int shardCount) {

    private static final String ON_SERVER = "shardflake.installation";

    /** The identity in a catalog; empty without an installation there, or if the catalog is of a version without ids. */
    public static Optional<InstallationIdentity> ofCatalog(Connection catalog) throws SQLException {
        return read(catalog, "shardflake_catalog.installation");
    }

    /** The identity that a server remembers; empty if it remembers none. */
    public static Optional<InstallationIdentity> ofServer(Connection server) throws SQLException {
        return read(server, ON_SERVER);
    }

    private static Optional<InstallationIdentity> read(Connection connection, String table) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            try (ResultSet found = statement.executeQuery("SELECT to_regclass('%s') IS NOT NULL".formatted(table))) {
                if (!found.next() || !found.getBoolean(1)) {
                    return Optional.empty();
                }
            }
            try (ResultSet row =
                    statement.executeQuery("SELECT to_jsonb(i) ->> 'id', i.shard_count FROM %s i".formatted(table))) {
                return row.next() && row.getString(1) != null
                        ? Optional.of(new InstallationIdentity(UUID.fromString(row.getString(1)), row.getInt(2)))
                        : Optional.empty();
            }
        }
    }

    /** Records this identity on a server, in place of any earlier one. */
    public void recordOn(Connection server) throws SQLException {
        try (PreparedStatement record = server.prepareStatement(
                "INSERT INTO " + ON_SERVER
                        + " (id, shard_count) VALUES (?, ?) ON CONFLICT (only_row) DO UPDATE SET id = excluded.id, shard_count = excluded.shard_count, recorded_at = clock_timestamp()")) {
            record.setObject(1, id);
            record.setInt(2, shardCount);
            record.execute();
        }
    }

    /** Replaces a catalog's id by this identity's. */
    public void recordInCatalog(Connection catalog) throws SQLException {
        boolean autoCommit = catalog.getAutoCommit();
        catalog.setAutoCommit(false);
        try (Statement allow = catalog.createStatement();
                PreparedStatement change = catalog.prepareStatement(
                        "UPDATE shardflake_catalog.installation SET id = ?, version = version + 1 WHERE id <> ?")) {
            allow.execute("SET LOCAL shardflake.new_identity = 'on'");
            change.setObject(1, id);
            change.setObject(2, id);
            change.execute();
            catalog.commit();
        } catch (SQLException e) {
            rollBack(catalog, autoCommit, e);
            throw e;
        }
        catalog.setAutoCommit(autoCommit);
    }

    private static void rollBack(Connection catalog, boolean autoCommit, SQLException failure) {
        try {
            catalog.rollback();
            catalog.setAutoCommit(autoCommit);
        } catch (SQLException e) {
            failure.addSuppressed(e);
        }
    }

    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%s of %,d shards", id, shardCount);
    }
}
