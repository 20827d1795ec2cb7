/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import org.shardflake.LayoutMismatchException.Property;

/**
 * The layout recorded in a database, for checks on connecting to it.
 *
 * <p>Call it outside a transaction: where the library is missing, the failed look-up would abort one.
 */
public final class DeployedLayout {

    private static final String QUERY = "SELECT epoch_ms, layout_version, shardflake.epoch_ms() FROM shardflake.layout";

    private DeployedLayout() {}

    /**
     * Reads the layout of the ids that the database generates.
     *
     * @throws LibraryNotDeployedException if the function library is not deployed there
     * @throws LayoutMismatchException if its layout version is unknown, or its functions disagree with its record
     */
    public static IdLayout read(Connection connection) throws SQLException {
        return read(connection, connection.getCatalog());
    }

    /**
     * Reads the layout, and refuses a database whose layout is not {@code expected}.
     *
     * @throws LibraryNotDeployedException if the function library is not deployed there
     * @throws LayoutMismatchException if its layout is a different one
     */
    public static void require(Connection connection, IdLayout expected) throws SQLException {
        String database = connection.getCatalog();
        IdLayout recorded = read(connection, database);
        if (!recorded.equals(expected)) {
            throw new LayoutMismatchException(
                    "database %s makes ids with epoch %s instead of %s; an epoch never changes, so use the recorded one"
                            .formatted(database, describe(recorded.epochMillis()), describe(expected.epochMillis())),
                    database,
                    Property.EPOCH,
                    expected.epochMillis(),
                    recorded.epochMillis());
        }
    }

    private static IdLayout read(Connection connection, String database) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(QUERY)) {
            if (!row.next()) {
                throw new LibraryNotDeployedException(database, "table shardflake.layout is empty", null);
            }
            long epochMillis = row.getLong(1);
            checkVersion(database, row.getInt(2));
            checkFunction(database, epochMillis, row.getLong(3));
            return new IdLayout(epochMillis);
        } catch (SQLException e) {
            throw explain(database, e);
        }
    }

    private static void checkVersion(String database, int version) {
        if (version != IdLayout.VERSION) {
            throw new LayoutMismatchException(
                    "database %s makes ids of layout version %s, this program knows version %s; use a matching release of Shardflake"
                            .formatted(database, version, IdLayout.VERSION),
                    database,
                    Property.VERSION,
                    IdLayout.VERSION,
                    version);
        }
    }

    private static void checkFunction(String database, long recorded, long used) {
        if (recorded != used) {
            throw new LayoutMismatchException(
                    "database %s records epoch %s in shardflake.layout, but shardflake.epoch_ms() returns %s; deploy the function library again"
                            .formatted(database, describe(recorded), describe(used)),
                    database,
                    Property.EPOCH_FUNCTION,
                    recorded,
                    used);
        }
    }

    private static String describe(long epochMillis) {
        return "%s (%s)".formatted(epochMillis, Instant.ofEpochMilli(epochMillis));
    }

    private static SQLException explain(String database, SQLException e) {
        String state = e.getSQLState() == null ? "" : e.getSQLState();
        String missing = switch (state) {
            case "3F000" -> "schema shardflake is missing";
            case "42P01" -> "table shardflake.layout is missing";
            case "42883" -> "function shardflake.epoch_ms() is missing";
            case "42703" -> "table shardflake.layout has other columns";
            default -> "";
        };
        if (missing.isEmpty()) {
            return e;
        }
        throw new LibraryNotDeployedException(database, missing, e);
    }
}
