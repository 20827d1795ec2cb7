/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.Level;
import java.util.logging.Logger;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.Scope;
import liquibase.UpdateSummaryEnum;
import liquibase.UpdateSummaryOutputEnum;
import liquibase.analytics.configuration.AnalyticsArgs;
import liquibase.changelog.ChangeLogParameters;
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
 * Liquibase as a quiet guest: nothing on stdout, no analytics, warnings only in the log, and one run at a time, since
 * its scopes and caches are shared by the whole JVM.
 */
public final class LiquibaseRun {

    private static final ReentrantLock ONE_AT_A_TIME = new ReentrantLock();

    private LiquibaseRun() {}

    /**
     * Applies what a changelog has that the history in {@code historySchema} has not. The caller sees to it that no
     * other run works on that history: a lock found there is taken to be left by a dead process.
     *
     * @param connection left open, in the auto-commit mode that Liquibase chose
     * @throws DeploymentException if a changeset failed; those before it are committed
     */
    public static void update(
            Connection connection,
            ResourceAccessor resources,
            String changelog,
            String historySchema,
            Map<String, String> parameters) {
        ONE_AT_A_TIME.lock();
        try {
            Scope.child(quiet(resources), () -> {
                // Not closed: that would close the connection, which is the caller's.
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
        } catch (Exception e) {
            throw new DeploymentException("could not deploy " + changelog + ": " + e.getMessage(), e);
        } finally {
            ONE_AT_A_TIME.unlock();
        }
    }

    /** Whether the history in {@code historySchema} lacks nothing of a changelog, in the form that the changelog has now. */
    static boolean isCurrent(
            Connection connection,
            ResourceAccessor resources,
            String changelog,
            String historySchema,
            Map<String, String> parameters)
            throws SQLException {
        try {
            return quietly(resources, () -> {
                // Not closed: that would close the connection, which is the caller's.
                Database database = new PostgresDatabase();
                database.setConnection(new JdbcConnection(connection));
                database.setLiquibaseSchemaName(historySchema);
                Liquibase liquibase = new Liquibase(changelog, resources, database);
                parameters.forEach(liquibase::setChangeLogParameter);
                return liquibase
                        .listUnrunChangeSets(new Contexts(), new LabelExpression())
                        .isEmpty();
            });
        } catch (Exception e) {
            throw new DeploymentException("could not compare " + changelog + ": " + e.getMessage(), e);
        } finally {
            connection.setAutoCommit(true);
        }
    }

    /** Work with Liquibase that is no update, under the same conditions. */
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
