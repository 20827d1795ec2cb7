/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import java.sql.Connection;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.Level;
import java.util.logging.Logger;
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
import liquibase.resource.ClassLoaderResourceAccessor;
import liquibase.ui.LoggerUIService;

/**
 * Liquibase as a quiet guest: nothing on stdout, no analytics, warnings only in the log, and one run at a time, since
 * its scopes and caches are shared by the whole JVM.
 */
final class LiquibaseRun {

    private static final ReentrantLock ONE_AT_A_TIME = new ReentrantLock();

    private LiquibaseRun() {}

    static void update(Connection connection, String changelog, String historySchema, String parameter, String value) {
        ONE_AT_A_TIME.lock();
        try {
            Scope.child(quiet(), () -> {
                // Not closed: that would close the connection, which is the caller's.
                Database database = new PostgresDatabase();
                database.setConnection(new JdbcConnection(connection));
                database.setLiquibaseSchemaName(historySchema);
                ChangeLogParameters parameters = new ChangeLogParameters(database);
                parameters.set(parameter, value);

                new CommandScope(ReleaseLocksCommandStep.COMMAND_NAME)
                        .addArgumentValue(DbUrlConnectionArgumentsCommandStep.DATABASE_ARG, database)
                        .execute();
                new CommandScope(UpdateCommandStep.COMMAND_NAME)
                        .addArgumentValue(DbUrlConnectionArgumentsCommandStep.DATABASE_ARG, database)
                        .addArgumentValue(UpdateCommandStep.CHANGELOG_FILE_ARG, changelog)
                        .addArgumentValue(DatabaseChangelogCommandStep.CHANGELOG_PARAMETERS, parameters)
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

    private static Map<String, Object> quiet() {
        Logger parent = Logger.getLogger("org.shardflake.sql.liquibase");
        parent.setLevel(Level.WARNING);
        JavaLogService log = new JavaLogService();
        log.setParent(parent);
        return Map.of(
                Scope.Attr.resourceAccessor.name(),
                new ClassLoaderResourceAccessor(LiquibaseRun.class.getClassLoader()),
                Scope.Attr.logService.name(),
                log,
                Scope.Attr.ui.name(),
                new LoggerUIService(),
                AnalyticsArgs.ENABLED.getKey(),
                false);
    }
}
