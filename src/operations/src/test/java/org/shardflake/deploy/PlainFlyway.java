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
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.configuration.FluentConfiguration;
import org.flywaydb.database.postgresql.PostgreSQLConfigurationExtension;
import org.shardflake.Sharding;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.jdbc.Sql;

/** Flyway itself, as the oracle of what a directory of migrations means. */
final class PlainFlyway {

    private static final String TABLE = "flyway_schema_history";

    private PlainFlyway() {}

    /** Flyway for one schema, which has the form of a shard. */
    static Flyway of(TestDatabase database, int shard, Path directory, Map<String, String> placeholders, boolean any) {
        FluentConfiguration configuration = Flyway.configure()
                .dataSource(database.jdbcUrl(), database.user(), database.password())
                .locations("filesystem:" + directory)
                .defaultSchema(Sharding.schema(shard))
                .table(TABLE)
                .validateMigrationNaming(true)
                .baselineOnMigrate(true)
                .baselineVersion("0")
                .outOfOrder(any)
                .placeholders(placeholders);
        // A lock in a transaction would keep CREATE INDEX CONCURRENTLY waiting for ever.
        configuration
                .getConfigurationExtension(PostgreSQLConfigurationExtension.class)
                .setTransactionalLock(false);
        return configuration.load();
    }

    /** What Flyway has recorded, in order: version, description and checksum. */
    static List<String> history(Connection connection, int shard) throws SQLException {
        return Sql.list(
                connection,
                "SELECT COALESCE(version, 'R'), description, checksum FROM %s.%s WHERE type = 'SQL' ORDER BY installed_rank"
                        .formatted(Sharding.schema(shard), TABLE),
                row -> "%s %s %s".formatted(row.getString(1), row.getString(2), row.getString(3)));
    }

    /** Has work look at the schema without Flyway's table. */
    static void without(Connection connection, int shard, Sql.Action<SQLException> work) throws SQLException {
        String schema = Sharding.schema(shard);
        Sql.execute(
                connection,
                "CREATE SCHEMA IF NOT EXISTS history; ALTER TABLE %s.%s SET SCHEMA history".formatted(schema, TABLE));
        work.run();
        Sql.execute(connection, "ALTER TABLE history.%s SET SCHEMA %s".formatted(TABLE, schema));
    }
}
