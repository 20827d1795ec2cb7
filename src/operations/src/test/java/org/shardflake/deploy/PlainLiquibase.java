/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import liquibase.changelog.ChangeLogParameters;
import liquibase.command.CommandScope;
import liquibase.command.core.UpdateCommandStep;
import liquibase.command.core.helpers.DatabaseChangelogCommandStep;
import liquibase.command.core.helpers.DbUrlConnectionArgumentsCommandStep;
import liquibase.database.core.PostgresDatabase;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.DirectoryResourceAccessor;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Sql;
import org.shardflake.sql.LiquibaseRun;

/** Liquibase's own update command, as the oracle of what a changelog means. */
final class PlainLiquibase {

    private PlainLiquibase() {}

    /** Updates one schema, which has the form of a shard. */
    static void update(Connection connection, int shard, Path directory, String changelog, DeploySettings settings)
            throws Exception {
        String schema = Sharding.schema(shard);
        Sql.execute(connection, "SET search_path = %s, public; CREATE SCHEMA IF NOT EXISTS history".formatted(schema));
        try (DirectoryResourceAccessor resources = new DirectoryResourceAccessor(directory)) {
            LiquibaseRun.quietly(resources, () -> {
                PostgresDatabase database = new PostgresDatabase();
                database.setConnection(new JdbcConnection(connection));
                database.setDefaultSchemaName(schema);
                database.setLiquibaseSchemaName("history");
                ChangeLogParameters parameters = new ChangeLogParameters(database);
                parameters.set("shard.schema", schema);
                settings.parameters().forEach(parameters::set);
                return new CommandScope(UpdateCommandStep.COMMAND_NAME)
                        .addArgumentValue(DbUrlConnectionArgumentsCommandStep.DATABASE_ARG, database)
                        .addArgumentValue(UpdateCommandStep.CHANGELOG_FILE_ARG, changelog)
                        .addArgumentValue(UpdateCommandStep.CONTEXTS_ARG, settings.contexts())
                        .addArgumentValue(UpdateCommandStep.LABEL_FILTER_ARG, settings.labels())
                        .addArgumentValue(DatabaseChangelogCommandStep.CHANGELOG_PARAMETERS, parameters)
                        .execute();
            });
        }
        connection.setAutoCommit(true);
        Sql.execute(connection, "SET search_path = public");
    }

    /** The rows of all tables of a schema, and the positions of its sequences. */
    static Map<String, List<String>> rows(Connection connection, int shard) throws SQLException {
        Map<String, List<String>> rows = new TreeMap<>();
        String schema = Sharding.schema(shard);
        for (String table : Sql.list(
                connection,
                "SELECT relname FROM pg_class WHERE relnamespace = ?::regnamespace AND relkind IN ('r', 'm')",
                row -> row.getString(1),
                schema)) {
            rows.put(
                    table,
                    Sql.list(
                            connection,
                            "SELECT replace(row_of_it::text, '%1$s', 'shard') FROM %1$s.\"%2$s\" row_of_it ORDER BY 1"
                                    .formatted(schema, table),
                            row -> row.getString(1)));
        }
        rows.put(
                "sequences",
                Sql.list(
                        connection,
                        "SELECT sequencename || ' ' || COALESCE(last_value::text, '') FROM pg_sequences WHERE schemaname = ? ORDER BY 1",
                        row -> row.getString(1),
                        schema));
        return rows;
    }
}
