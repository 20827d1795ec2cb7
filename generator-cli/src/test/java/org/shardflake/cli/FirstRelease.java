/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Objects;
import org.shardflake.cluster.TestDatabase;

/** An installation of 0.1.0, from a dump: servers db1 with four shards and db2 with none, and a catalog. */
public final class FirstRelease {

    private FirstRelease() {}

    /** Restores it into empty databases. */
    public static void restore(TestDatabase db1, TestDatabase db2, TestDatabase catalog)
            throws IOException, SQLException {
        String server = read("server.sql");
        execute(db1, server);
        execute(db2, server);
        execute(
                db2,
                "DROP SCHEMA shard_0000, shard_0001, shard_0002, shard_0003 CASCADE; TRUNCATE shardflake_deploy.databasechangelog");
        execute(
                catalog,
                read("catalog.sql")
                        .replace("postgresql://app@db1/app", CliInstallation.withoutPassword(db1))
                        .replace("postgresql://app@db2/app", CliInstallation.withoutPassword(db2)));
    }

    private static void execute(TestDatabase database, String sql) throws SQLException {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static String read(String file) throws IOException {
        try (InputStream dump = FirstRelease.class.getResourceAsStream("/0.1.0/" + file)) {
            return new String(Objects.requireNonNull(dump).readAllBytes(), UTF_8);
        }
    }
}
