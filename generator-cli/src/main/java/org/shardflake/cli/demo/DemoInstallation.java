/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.demo;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.install.Installation;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;

/** The demo's shard map, in a catalog on its first server, and a router that reads the map there. */
final class DemoInstallation {

    private final List<PostgresServer> servers;
    private final String database;
    private final ShardMap map;

    /** Assigns shards to the servers in turn. */
    DemoInstallation(List<PostgresServer> servers, String database, Sharding sharding) {
        this.servers = servers;
        this.database = database;
        this.map = ShardMap.initial(
                sharding, IdLayout.DEFAULT, servers.stream().map(this::entry).toList(), Spread.ROUND_ROBIN);
    }

    private Server entry(PostgresServer server) {
        return new Server(server.name(), server.jdbcUrl(database).replaceFirst("^jdbc:", ""));
    }

    /** The servers, each with its shards. */
    List<DemoServer> servers() {
        return servers.stream()
                .map(server -> new DemoServer(
                        server,
                        database,
                        map.shards(entry(server)).stream().boxed().toList()))
                .toList();
    }

    /** Sets up the servers and the catalog. */
    Installation create() {
        Map<String, ServerUrl> urls = servers().stream().collect(Collectors.toMap(DemoServer::name, DemoServer::url));
        Installation installation =
                new Installation(catalog(), server -> Objects.requireNonNull(urls.get(server.name())));
        installation.create(map, "the demo");
        return installation;
    }

    /** Opens a router, which the caller closes. */
    ShardRouter router() {
        PostgresServer first = servers.get(0);
        return ShardRouter.builder()
                .catalog(catalog())
                .credentials(first.user(), first.password())
                .build();
    }

    ServerUrl catalog() {
        return ServerUrl.parse(servers.get(0).uri(database));
    }
}
