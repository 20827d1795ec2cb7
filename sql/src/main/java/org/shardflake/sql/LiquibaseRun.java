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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.regex.Pattern;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.Scope;
import liquibase.UpdateSummaryEnum;
import liquibase.UpdateSummaryOutputEnum;
import liquibase.analytics.configuration.AnalyticsArgs;
import liquibase.changelog.ChangeLogParameters;
import liquibase.changelog.ChangeSet;
import liquibase.command.CommandScope;
import liquibase.command.core.ReleaseLocksCommandStep;
import liquibase.command.core.UpdateCommandStep;
import liquibase.command.core.helpers.DatabaseChangelogCommandStep;
import liquibase.command.core.helpers.DbUrlConnectionArgumentsCommandStep;
import liquibase.command.core.helpers.ShowSummaryArgument;
import liquibase.database.Database;
import liquibase.database.core.PostgresDatabase;
import liquibase.database.jvm.JdbcConnection;
import liquibase.logging.core.JavaLogService;
import liquibase.resource.ResourceAccessor;
import liquibase.ui.LoggerUIService;

/**
 * Runs Liquibase quietly: nothing on stdout, no analytics, only warnings in the log, and one run at a time, since Liquibase's scopes and caches
 * are shared within the JVM.
 */
public final class LiquibaseRun {

    private static final ReentrantLock ONE_AT_A_TIME = new ReentrantLock();

    private static final String LACKS_REPLICA_IDENTITY = """
            SELECT pg_catalog.format('ALTER TABLE %I.%I REPLICA IDENTITY FULL', n.nspname, c.relname)
              FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
             WHERE n.nspname OPERATOR(pg_catalog.=) ?::pg_catalog.name AND c.relkind OPERATOR(pg_catalog.=) 'r' AND c.relreplident OPERATOR(pg_catalog.=) 'd'
               AND pg_catalog.pg_has_role(c.relowner, 'USAGE')
               AND NOT EXISTS (SELECT FROM pg_catalog.pg_index x WHERE x.indrelid OPERATOR(pg_catalog.=) c.oid AND x.indisprimary)
            """;

    /** The SQLSTATEs of a connection that failed or that the server ended. */
    private static final Pattern LOST = Pattern.compile("08|57P");

    private LiquibaseRun() {}

    /**
     * Refuses a database where Liquibase would not find its own tables again.
     *
     * @throws DeploymentException if the database's name begins or ends with a blank
     */
    static void refuseBlanks(Connection connection) throws SQLException {
        String database = connection.getCatalog();
        if (!database.equals(database.trim())) {
            throw new DeploymentException("the name of database \"" + database
                    + "\" begins or ends with a blank, which Liquibase leaves out when it looks for its tables;"
                    + " rename it with ALTER DATABASE ... RENAME TO ..., and use the new name in URLs");
        }
    }

    /**
     * Applies the changesets that the history in {@code historySchema} lacks. The caller ensures that no other run uses
     * that history: a lock found there is assumed to be left by a dead process.
     *
     * @param connection a connection, left open in the auto-commit mode that Liquibase chose
     * @throws DeploymentException if a changeset failed; those before it are committed
     * @throws SQLException if the connection was lost
     */
    public static void update(
            Connection connection,
            ResourceAccessor resources,
            String changelog,
            String historySchema,
            Map<String, String> parameters)
            throws SQLException {
        ONE_AT_A_TIME.lock();
        try {
            Scope.child(quiet(resources), () -> {
                // Not closed, since that would close the caller's connection.
                Database database = new PostgresDatabase();
                database.setConnection(new JdbcConnection(connection));
                database.setLiquibaseSchemaName(historySchema);
                ChangeLogParameters changelogParameters = new ChangeLogParameters(database);
                parameters.forEach(changelogParameters::set);

                new CommandScope(ReleaseLocksCommandStep.COMMAND_NAME)
                        .addArgumentValue(DbUrlConnectionArgumentsCommandStep.DATABASE_ARG, database)
                        .execute();
                new CommandScope(UpdateCommandStep.COMMAND_NAME)
                        .addArgumentValue(DbUrlConnectionArgumentsCommandStep.DATABASE_ARG, database)
                        .addArgumentValue(UpdateCommandStep.CHANGELOG_FILE_ARG, changelog)
                        .addArgumentValue(DatabaseChangelogCommandStep.CHANGELOG_PARAMETERS, changelogParameters)
                        .addArgumentValue(ShowSummaryArgument.SHOW_SUMMARY, UpdateSummaryEnum.OFF)
                        .addArgumentValue(ShowSummaryArgument.SHOW_SUMMARY_OUTPUT, UpdateSummaryOutputEnum.LOG)
                        .execute();
            });
            addReplicaIdentities(connection, historySchema);
        } catch (Exception e) {
            throwLoss(e);
            throw new DeploymentException("could not deploy " + changelog + ": " + e.getMessage(), e);
        } finally {
            ONE_AT_A_TIME.unlock();
        }
    }

    /** Throws the driver's exception if the connection was lost, since Liquibase's text says neither that nor on which server. */
    private static void throwLoss(Exception failure) throws SQLException {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException lost
                    && LOST.matcher(String.valueOf(lost.getSQLState())).lookingAt()) {
                throw lost;
            }
        }
    }

    /**
     * Makes a schema's tables publishable: Liquibase's history has no key, and PostgreSQL refuses to delete from such a table under a
     * publication FOR ALL TABLES.
     */
    public static void addReplicaIdentities(Connection connection, String schema) throws SQLException {
        List<String> statements = new ArrayList<>();
        try (PreparedStatement lacking = connection.prepareStatement(LACKS_REPLICA_IDENTITY)) {
            lacking.setString(1, schema);
            try (ResultSet row = lacking.executeQuery()) {
                while (row.next()) {
                    statements.add(row.getString(1));
                }
            }
        }
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
        if (!connection.getAutoCommit()) {
            connection.commit();
        }
    }

    /** The changesets of a changelog that the history in {@code historySchema} lacks in their current form. */
    static List<String> missing(
            Connection connection,
            ResourceAccessor resources,
            String changelog,
            String historySchema,
            Map<String, String> parameters)
            throws SQLException {
        try (AutoCloseable ending = () -> connection.setAutoCommit(true)) {
            return quietly(resources, () -> {
                // Not closed, since that would close the caller's connection.
                Database database = new PostgresDatabase();
                database.setConnection(new JdbcConnection(connection));
                database.setLiquibaseSchemaName(historySchema);
                Liquibase liquibase = new Liquibase(changelog, resources, database);
                parameters.forEach(liquibase::setChangeLogParameter);
                return liquibase.listUnrunChangeSets(new Contexts(), new LabelExpression()).stream()
                        .map(ChangeSet::getId)
                        .toList();
            });
        } catch (Exception e) {
            throw new DeploymentException("could not compare " + changelog + ": " + e.getMessage(), e);
        }
    }

    /** Runs other work with Liquibase under the same conditions as an update. */
    public static <T> T quietly(ResourceAccessor resources, Callable<T> work) throws Exception {
        ONE_AT_A_TIME.lock();
        try {
            return Scope.child(quiet(resources), work::call);
        } finally {
            ONE_AT_A_TIME.unlock();
        }
    }

    static Map<String, Object> quiet(ResourceAccessor resources) {
        Logger parent = Logger.getLogger("org.shardflake.sql.liquibase");
        parent.setLevel(Level.WARNING);
        JavaLogService log = new JavaLogService();
        log.setParent(parent);
        return Map.of(
                Scope.Attr.resourceAccessor.name(),
                resources,
                Scope.Attr.logService.name(),
                log,
                Scope.Attr.ui.name(),
                new LoggerUIService(),
                AnalyticsArgs.ENABLED.getKey(),
                false);
    }
}
