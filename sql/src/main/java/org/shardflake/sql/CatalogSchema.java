/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import liquibase.resource.ClassLoaderResourceAccessor;

/**
 * The schema {@code shardflake_catalog}: tables with the shard map of one installation, in a separate database or in a server's. Deploying it
 * again brings changed functions up to date and does nothing otherwise.
 *
 * <p>Its Liquibase history is in that schema too. All methods are static and safe to call from many threads; deployments to
 * one database wait for each other.
 */
public final class CatalogSchema {

    /** The path of the changelog on the class path. */
    public static final String CHANGELOG = "shardflake/catalog.changelog.xml";

    private static final String SCHEMA = "shardflake_catalog";

    /** Checks for the objects of the last changesets, without which the map's rules are not enforced. */
    private static final String COMPLETE = """
            SELECT to_regprocedure('shardflake_catalog.grant_read(name)') IS NOT NULL
               AND (SELECT count(*) FROM pg_trigger t
                     WHERE NOT t.tgisinternal AND t.tgenabled = 'O'
                       AND t.tgrelid::regclass::text LIKE 'shardflake_catalog.%') = 10
            """;

    private static final ClassLoaderResourceAccessor RESOURCES =
            new ClassLoaderResourceAccessor(CatalogSchema.class.getClassLoader());

    private CatalogSchema() {}

    /**
     * Deploys the schema; does not write the shard map.
     *
     * @param connection a connection of the role that will own the catalog, with no transaction open; left open, with
     *     its auto-commit mode unchanged
     * @throws NewerVersionException if the database has a newer version of the schema
     * @throws DeploymentException if the schema could not be deployed
     */
    public static void deploy(Connection connection) throws SQLException {
        try (DeployLock lock = DeployLock.take(connection)) {
            check(connection);
            lock.execute("CREATE SCHEMA IF NOT EXISTS " + SCHEMA);
            LiquibaseRun.update(connection, RESOURCES, CHANGELOG, SCHEMA, Map.of());
            connection.setAutoCommit(true);
            verify(connection);
        }
    }

    /**
     * Checks that {@link #deploy} would not be refused; changes nothing.
     *
     * @throws NewerVersionException if the database has a newer version of the schema
     */
    public static void check(Connection connection) throws SQLException {
        LiquibaseRun.refuseBlanks(connection);
        SqlVersion.CATALOG.refuseNewer(connection);
    }

    /** The version of the schema that this program deploys, which increases with every change of the schema. */
    public static int version() {
        return SqlVersion.CATALOG.own();
    }

    /** The version of the schema in a database: 0 if there is none, or one from before versions were counted. */
    public static int version(Connection connection) throws SQLException {
        return SqlVersion.CATALOG.deployed(connection);
    }

    /**
     * The changesets that a deployment would apply, by id, or {@code all}.
     *
     * @param connection a connection with no transaction open; left open, in auto-commit mode
     * @throws NewerVersionException if the database has a newer version of the schema
     */
    public static List<String> missing(Connection connection) throws SQLException {
        check(connection);
        try (Statement statement = connection.createStatement();
                ResultSet history =
                        statement.executeQuery("SELECT to_regclass('shardflake_catalog.databasechangelog') IS NULL")) {
            history.next();
            if (history.getBoolean(1)) {
                return List.of("all");
            }
        }
        return LiquibaseRun.missing(connection, RESOURCES, CHANGELOG, SCHEMA, Map.of());
    }

    /** Checks that the objects exist, since Liquibase's success does not prove it. */
    private static void verify(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet complete = statement.executeQuery(COMPLETE)) {
            if (!complete.next() || !complete.getBoolean(1)) {
                throw new DeploymentException("schema shardflake_catalog is not as deployed, though Liquibase"
                        + " reported success: look at shardflake_catalog.databasechangelog and at disabled triggers");
            }
        }
    }
}
