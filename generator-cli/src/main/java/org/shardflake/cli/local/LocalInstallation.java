/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.local;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntConsumer;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.catalog.CatalogMissingException;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.LocalCluster;
import org.shardflake.cluster.LocalServer;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/** An installation on a local cluster: each server has a database {@code app}, and the first server also has the catalog. */
public final class LocalInstallation {

    private static final String DATABASE = "app";

    private final LocalCluster cluster;

    private LocalInstallation(LocalCluster cluster) {
        this.cluster = cluster;
    }

    /** The installation in a directory, which need not exist yet. */
    public static LocalInstallation in(Path directory) {
        return new LocalInstallation(LocalCluster.in(directory));
    }

    /** The directory of the cluster's files. */
    public Path directory() {
        return cluster.directory();
    }

    /** The servers of the cluster, running or not. */
    public List<LocalServer> servers() {
        return cluster.servers();
    }

    /** The server with the catalog, if the installation was ever started. */
    public Optional<LocalServer> home() {
        return servers().stream().findFirst();
    }

    /** The URL of the catalog, if the installation was ever started. */
    public Optional<String> catalog() {
        return home().map(LocalInstallation::uri);
    }

    /** The URL of a server's database with the shards. */
    public static String uri(LocalServer server) {
        return server.uri(DATABASE);
    }

    /**
     * Starts the servers, and creates what is missing: servers, databases, function library, catalog, shard map.
     *
     * @param shards how many, for a new map; an existing map keeps its count
     * @param starting told, before it takes a while, how many servers are to be created
     */
    public ShardMap start(int servers, int shards, IntConsumer starting) throws SQLException {
        cluster.start(servers, starting);
        for (LocalServer server : cluster.servers()) {
            createDatabase(server);
        }
        ServerUrl home = ServerUrl.parse(catalog().orElseThrow());
        Installation installation = Installation.at(home);
        installation.deployCatalog();
        try {
            return addMissing(installation, ShardCatalog.at(home).load());
        } catch (CatalogMissingException e) {
            List<Server> all =
                    cluster.servers().stream().map(LocalInstallation::server).toList();
            return installation.create(
                    ShardMap.initial(new Sharding(shards), IdLayout.DEFAULT, all, Spread.CONTIGUOUS), "local start");
        }
    }

    private static void createDatabase(LocalServer server) throws SQLException {
        try (Connection connection = ServerUrl.parse(server.uri("postgres")).connect("shardflake local")) {
            if (!Sql.isTrue(connection, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = ?)", DATABASE)) {
                Sql.execute(connection, "CREATE DATABASE " + DATABASE);
            }
        }
    }

    private ShardMap addMissing(Installation installation, ShardMap map) {
        ShardMap now = map;
        for (LocalServer server : cluster.servers()) {
            if (map.servers().stream().noneMatch(known -> known.name().equals(server.name()))) {
                now = installation.add(server(server), "local start");
            }
        }
        return now;
    }

    private static Server server(LocalServer server) {
        return new Server(server.name(), uri(server), Map.of());
    }

    /** Stops all servers; their data stays. */
    public void stop() {
        cluster.stop();
    }
}
