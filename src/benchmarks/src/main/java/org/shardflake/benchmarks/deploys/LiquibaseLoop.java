/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import liquibase.resource.DirectoryResourceAccessor;
import org.shardflake.benchmarks.ids.Sql;
import org.shardflake.benchmarks.installation.Databases;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.sql.LiquibaseRun;

/**
 * One update by Liquibase after the other, each for one schema with a connection and a history of its own, in databases of its own,
 * which closing drops.
 */
final class LiquibaseLoop implements AutoCloseable {

    private final List<PostgresServer> servers;
    private final int schemas;
    private final String database;
    private final Databases databases;

    /** Creates the databases. */
    LiquibaseLoop(List<PostgresServer> servers, int schemas, String database) throws SQLException, IOException {
        this.servers = servers;
        this.schemas = schemas;
        this.database = database;
        this.databases = Databases.create(servers, database);
    }

    /** Updates every schema and returns how many seconds that took. */
    double deploy(String changelog) throws Exception {
        databases.writeChangelog(changelog);
        long start = System.nanoTime();
        for (int i = 0; i < schemas; i++) {
            update(servers.get(i % servers.size()), "loop_%04d".formatted(i));
        }
        return (System.nanoTime() - start) / 1e9;
    }

    private void update(PostgresServer server, String schema) throws Exception {
        try (Connection connection = server.connect(database);
                DirectoryResourceAccessor resources = new DirectoryResourceAccessor(databases.directory())) {
            Sql.execute(connection, "CREATE SCHEMA IF NOT EXISTS " + schema, "SET search_path = " + schema);
            LiquibaseRun.update(connection, resources, Databases.CHANGELOG, schema, Map.of());
        }
    }

    @Override
    public void close() throws SQLException, IOException {
        databases.close();
    }
}
