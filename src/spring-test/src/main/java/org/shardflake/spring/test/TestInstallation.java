/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.lookup.LookupPlan;
import org.shardflake.lookup.LookupTables;
import org.shardflake.server.ServerUrl;

/** An installation on embedded servers of this JVM, which live as long as the JVM. */
final class TestInstallation {

    private static final Map<ShardflakeTest, String> catalogs = new HashMap<>();
    private static @Nullable PostgresCluster cluster;
    /** The number of databases so far, including those whose creation failed. */
    private static int databases;

    private TestInstallation() {}

    /** The URL of the catalog for a test's settings; the installation is created on first use. */
    static synchronized String catalog(ShardflakeTest wanted) {
        return catalogs.computeIfAbsent(wanted, TestInstallation::create);
    }

    private static String create(ShardflakeTest wanted) {
        SchemaSource schema = new SchemaSource(wanted.value(), wanted.uidColumn());
        SchemaSource later =
                schema.then(wanted.flyway(), wanted.flywayHistory()).orElse(null);
        String database = "shardflake_test_" + databases++;
        List<Server> servers = new ArrayList<>();
        for (PostgresServer server : servers(wanted.servers())) {
            createDatabase(server, database);
            servers.add(new Server(server.name(), server.uri(database)));
        }
        SchemaSource reference = wanted.reference().isEmpty() ? null : new SchemaSource(wanted.reference(), "");
        schema.install(servers, server -> ServerUrl.parse(server.url()), wanted.shards(), reference, later);
        ServerUrl catalog = ServerUrl.parse(servers.get(0).url());
        createLookups(new LookupTables(catalog, server -> ServerUrl.parse(server.url())), wanted.lookups());
        return servers.get(0).url();
    }

    private static void createLookups(LookupTables tables, TestLookup[] lookups) {
        try {
            for (TestLookup lookup : lookups) {
                tables.create(new LookupPlan(
                        lookup.value(), lookup.unique(), lookup.ignoreCase(), lookup.hashed(), Optional.empty()));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while lookups were created", e);
        }
    }

    /** Starts servers, which the cluster's own shutdown hook closes. */
    private static List<PostgresServer> servers(int count) {
        PostgresCluster running = cluster;
        if (running == null) {
            running = PostgresCluster.builder()
                    .provider(PostgresProvider.EMBEDDED)
                    .servers(count)
                    // By default, moves in tests would wait 5 s for a worker.
                    .setting("wal_retrieve_retry_interval", "200ms")
                    .start();
            cluster = running;
        } else {
            running.grow(count);
        }
        return List.copyOf(running.servers().subList(0, count));
    }

    private static void createDatabase(PostgresServer server, String name) {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE DATABASE " + name);
        } catch (SQLException e) {
            throw new IllegalStateException("cannot make database %s on %s".formatted(name, server), e);
        }
    }
}
