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
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import liquibase.resource.ClassLoaderResourceAccessor;

/**
 * The function library that every server needs: schema {@code shardflake}, with {@code next_id} and related functions. Deploying it again
 * brings changed functions up to date and does nothing otherwise.
 *
 * <p>Its Liquibase history is in schema {@code shardflake} too, apart from the application's own. A changelog that
 * includes {@value #CHANGELOG} deploys the same library under the application's history instead.
 *
 * <p>All methods are static and safe to call from many threads; Liquibase runs once at a time in a JVM. Deployments to
 * one database wait for each other.
 */
public final class FunctionLibrary {

    /** The path of the changelog on the class path. Its one parameter is {@code shardflake.epoch}, in UTC milliseconds. */
    public static final String CHANGELOG = "shardflake/server.changelog.xml";

    /** The default epoch: 2025-01-01T00:00:00Z, in UTC milliseconds. */
    public static final long DEFAULT_EPOCH_MILLIS = 1_735_689_600_000L;

    private static final String LAST_FUNCTION = "shardflake.next_id(integer, regclass)";

    /** The histories that Liquibase has found to be of this version. Finding out takes half a second, so servers share the result. */
    private static final Set<String> CURRENT = ConcurrentHashMap.newKeySet();

    private static final ClassLoaderResourceAccessor RESOURCES =
            new ClassLoaderResourceAccessor(FunctionLibrary.class.getClassLoader());

    private FunctionLibrary() {}

    /**
     * Deploys the library with the epoch recorded in the database, or else {@link #DEFAULT_EPOCH_MILLIS}.
     *
     * @param connection a connection of the role that will own the library, with no transaction open; left open, with
     *     its auto-commit mode unchanged
     * @throws NewerVersionException if the database has a newer version of the library
     * @throws DeploymentException if the library could not be deployed
     */
    public static void deploy(Connection connection) throws SQLException {
        deploy(connection, OptionalLong.empty());
    }

    /**
     * Deploys the library with an epoch, which the database keeps permanently.
     *
     * @param connection a connection of the role that will own the library, with no transaction open; left open, with
     *     its auto-commit mode unchanged
     * @param epochMillis the epoch, in UTC milliseconds since 1970
     * @throws NewerVersionException if the database has a newer version of the library
     * @throws DeploymentException if the database has recorded another epoch, or the library could not be deployed
     */
    public static void deploy(Connection connection, long epochMillis) throws SQLException {
        deploy(connection, OptionalLong.of(epochMillis));
    }

    private static void deploy(Connection connection, OptionalLong wanted) throws SQLException {
        try (DeployLock lock = DeployLock.take(connection)) {
            long epoch = check(connection, wanted);
            lock.execute("CREATE SCHEMA IF NOT EXISTS shardflake");
            LiquibaseRun.update(connection, RESOURCES, CHANGELOG, "shardflake", parameters(epoch));
            connection.setAutoCommit(true);
            verify(connection, epoch);
        }
    }

    /**
     * Checks that {@link #deploy(Connection, long)} would not be refused; changes nothing.
     *
     * @throws NewerVersionException if the database has a newer version of the library
     * @throws DeploymentException if the database has recorded another epoch
     */
    public static void check(Connection connection, long epochMillis) throws SQLException {
        check(connection, OptionalLong.of(epochMillis));
    }

    private static long check(Connection connection, OptionalLong wanted) throws SQLException {
        LiquibaseRun.refuseBlanks(connection);
        SqlVersion.LIBRARY.refuseNewer(connection);
        return epoch(recordedEpoch(connection), wanted);
    }

    /** The version of the library that this program deploys, which increases with every change of a function. */
    public static int version() {
        return SqlVersion.LIBRARY.own();
    }

    /** The version of the library in a database: 0 if there is none, or one from before versions were counted. */
    public static int version(Connection connection) throws SQLException {
        return SqlVersion.LIBRARY.deployed(connection);
    }

    /** The {@link #version(Connection)} as an SQL expression, to be read together with other values. */
    public static String versionExpression() {
        return SqlVersion.LIBRARY.expression();
    }

    /**
     * Whether the library in a database is the one that this version of Shardflake deploys.
     *
     * @param connection a connection with no transaction open; left open, in auto-commit mode
     */
    public static boolean isCurrent(Connection connection) throws SQLException {
        OptionalLong epoch = recordedEpoch(connection);
        if (epoch.isEmpty() || version(connection) != version()) { // Liquibase refuses to compare with a newer one.
            return false;
        }
        String history = epoch.getAsLong() + " " + history(connection);
        if (CURRENT.contains(history)) {
            return true;
        }
        boolean isCurrent = missing(connection).isEmpty();
        if (isCurrent) {
            CURRENT.add(history);
        }
        return isCurrent;
    }

    /**
     * The changesets that a deployment would apply, by id, or {@code all}.
     *
     * @param connection a connection with no transaction open; left open, in auto-commit mode
     * @throws NewerVersionException if the database has a newer version of the library
     */
    public static List<String> missing(Connection connection) throws SQLException {
        SqlVersion.LIBRARY.refuseNewer(connection);
        OptionalLong epoch = recordedEpoch(connection);
        return epoch.isEmpty()
                ? List.of("all")
                : LiquibaseRun.missing(connection, RESOURCES, CHANGELOG, "shardflake", parameters(epoch.getAsLong()));
    }

    /** The changesets that Liquibase has recorded, as a text: databases with equal texts are equally current. */
    private static String history(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            try (ResultSet found =
                    statement.executeQuery("SELECT to_regclass('shardflake.databasechangelog') IS NOT NULL")) {
                found.next();
                if (!found.getBoolean(1)) {
                    return "none";
                }
            }
            try (ResultSet history = statement.executeQuery(
                    "SELECT md5(string_agg(concat_ws(' ', orderexecuted, id, author, filename, md5sum, exectype), E'\\n' ORDER BY orderexecuted, id)) FROM shardflake.databasechangelog")) {
                history.next();
                return String.valueOf(history.getString(1));
            }
        }
    }

    private static Map<String, String> parameters(long epoch) {
        return Map.of("shardflake.epoch", Long.toString(epoch));
    }

    private static long epoch(OptionalLong recorded, OptionalLong wanted) {
        if (recorded.isEmpty()) {
            return wanted.orElse(DEFAULT_EPOCH_MILLIS);
        }
        if (wanted.isPresent() && wanted.getAsLong() != recorded.getAsLong()) {
            throw new DeploymentException("epoch " + wanted.getAsLong() + " differs from " + recorded.getAsLong()
                    + ", which this database has recorded for good: deploy with the recorded epoch,"
                    + " or into a database that has made no ids");
        }
        return recorded.getAsLong();
    }

    private static OptionalLong recordedEpoch(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            try (ResultSet layout = statement.executeQuery("SELECT to_regclass('shardflake.layout') IS NOT NULL")) {
                layout.next();
                if (!layout.getBoolean(1)) {
                    return OptionalLong.empty();
                }
            }
            try (ResultSet epoch = statement.executeQuery("SELECT epoch_ms FROM shardflake.layout")) {
                return epoch.next() ? OptionalLong.of(epoch.getLong(1)) : OptionalLong.empty();
            }
        }
    }

    /** Checks that the objects exist, since Liquibase's success does not prove it. */
    private static void verify(Connection connection, long epoch) throws SQLException {
        String sql = "SELECT to_regprocedure(?) IS NOT NULL, epoch_ms, shardflake.epoch_ms() FROM shardflake.layout";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, LAST_FUNCTION);
            try (ResultSet found = statement.executeQuery()) {
                if (!found.next() || !found.getBoolean(1) || found.getLong(2) != epoch || found.getLong(3) != epoch) {
                    throw new DeploymentException("the function library is not as deployed, though Liquibase"
                            + " reported success: look at shardflake.databasechangelog and shardflake.layout");
                }
            }
        }
    }
}
