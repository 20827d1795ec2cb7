/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.adoptions;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;

/**
 * A database whose tables are adopted.
 *
 * @param schema of its tables
 */
record SourceDatabase(
        BenchmarkInstallation installation,
        PostgresServer server,
        String name,
        String schema,
        List<AdoptTable> tables) {

    /** Makes it, empty but for the schema. */
    void create() throws SQLException {
        try (Connection connection = server.connect("postgres")) {
            Sql.execute(connection, "CREATE DATABASE " + name);
        }
        try (Connection connection = connect()) {
            Sql.execute(connection, "CREATE SCHEMA " + schema);
        }
    }

    Connection connect() throws SQLException {
        return server.connect(name);
    }

    /** Opens its adoption, which the caller closes. */
    DatabaseAdopter adopter() {
        return adopter(AdoptListener.NONE);
    }

    DatabaseAdopter adopter(AdoptListener listener) {
        ServerUrl catalog = ServerUrl.parse(installation.uri("db1"));
        return DatabaseAdopter.open(
                DatabaseSettings.of(tables.toArray(AdoptTable[]::new)),
                ServerUrl.parse(server.uri(name)),
                catalog,
                ShardCatalog.at(catalog).load(),
                shards -> ServerUrl.parse(installation.uri(shards.name())),
                listener);
    }

    /** A router for shards that are here, and for those that have left. */
    ShardRouter router(int poolSize) {
        return ShardRouter.builder()
                .catalog(installation.uri("db1"))
                .credentials(
                        installation.server("db1").user(),
                        installation.server("db1").password())
                .oldDatabase(server.uri(name), schema)
                .poolSize(poolSize)
                .build();
    }
}
