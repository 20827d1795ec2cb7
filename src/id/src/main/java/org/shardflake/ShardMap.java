/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * The server of every shard, as of one version.
 *
 * <p>Immutable, so a look-up needs no lock and sees one version whole. Looking up a uid or an id allocates nothing.
 * Every shard has exactly one server; no map can be made without it.
 */
public final class ShardMap {

    private final long version;
    private final Sharding sharding;
    private final IdLayout layout;
    private final List<Server> servers;
    private final Server[] serverOfShard;
    private final long[] epochOfShard;

    private ShardMap(
            long version,
            Sharding sharding,
            IdLayout layout,
            List<Server> servers,
            Server[] serverOfShard,
            long[] epochOfShard) {
        this.version = version;
        this.sharding = sharding;
        this.layout = layout;
        this.servers = servers;
        this.serverOfShard = serverOfShard;
        this.epochOfShard = epochOfShard;
    }

    /**
     * The first map of an installation: all shards distributed over the servers in the given order.
     *
     * @throws IllegalArgumentException if there is no server, or two have the same name
     */
    public static ShardMap initial(Sharding sharding, IdLayout layout, List<Server> servers, Spread spread) {
        if (servers.isEmpty()) {
            throw new IllegalArgumentException("a shard map needs at least one server");
        }
        int count = sharding.shardCount();
        return of(
                1,
                sharding,
                layout,
                servers,
                shard -> new ShardPlacement(shard, servers.get(spread.server(shard, count, servers.size())), 1));
    }

    /**
     * Creates a map of given placements.
     *
     * @param version the number of the change that made the map; a higher one is newer
     * @param placement gives the placement of each shard from 0 to the shard count - 1
     * @throws IllegalArgumentException if two servers have the same name or the same URL
     * @throws UnknownServerException if a shard is placed on a server that is not among {@code servers}
     */
    public static ShardMap of(
            long version,
            Sharding sharding,
            IdLayout layout,
            List<Server> servers,
            IntFunction<ShardPlacement> placement) {
        SortedMap<String, Server> byName = byName(servers);
        int count = sharding.shardCount();
        Server[] serverOfShard = new Server[count];
        long[] epochOfShard = new long[count];
        for (int shard = 0; shard < count; shard++) {
            ShardPlacement placed = placement.apply(shard);
            Server server = byName.get(placed.server().name());
            if (server == null) {
                throw new UnknownServerException(placed.server().name(), byName.keySet());
            }
            serverOfShard[shard] = server;
            epochOfShard[shard] = placed.epoch();
        }
        return new ShardMap(version, sharding, layout, List.copyOf(byName.values()), serverOfShard, epochOfShard);
    }

    private static SortedMap<String, Server> byName(List<Server> servers) {
        SortedMap<String, Server> byName = new TreeMap<>();
        Map<String, Server> byUrl = new HashMap<>();
        for (Server server : servers) {
            if (byName.put(server.name(), server) != null) {
                throw new IllegalArgumentException("server %s appears twice".formatted(server.name()));
            }
            requireOwn(server.url(), server, byUrl);
            requireOwn(server.routerUrl(), server, byUrl);
        }
        return byName;
    }

    private static void requireOwn(String url, Server server, Map<String, Server> byUrl) {
        Server twin = byUrl.put(url, server);
        if (twin != null && !twin.name().equals(server.name())) {
            throw new IllegalArgumentException(
                    "servers %s and %s have the same URL %s".formatted(twin.name(), server.name(), url));
        }
    }

    /** The number of the change that made this map; a higher version is newer. */
    public long version() {
        return version;
    }

    /** The mapping of uids to shards. */
    public Sharding sharding() {
        return sharding;
    }

    /** The layout, with the epoch, of this installation's ids. */
    public IdLayout layout() {
        return layout;
    }

    /** All servers by name, including those without shards. */
    public List<Server> servers() {
        return servers;
    }

    /**
     * The server with this name.
     *
     * @throws UnknownServerException if there is none
     */
    public Server server(String name) {
        return servers.stream()
                .filter(server -> server.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new UnknownServerException(
                        name, servers.stream().map(Server::name).toList()));
    }

    /** The shard that holds rows of this uid. */
    public int shardOfUid(long uid) {
        return sharding.shard(uid);
    }

    /**
     * The shard in which an id was created.
     *
     * @throws ShardOutOfRangeException if this installation has no such shard, so the id is not one of its own
     */
    public int shardOfId(long id) {
        int shard = IdLayout.shard(id);
        if (shard >= serverOfShard.length) {
            throw ShardOutOfRangeException.ofId(id, serverOfShard.length);
        }
        return shard;
    }

    /**
     * The shard that a key leads to.
     *
     * @throws ShardOutOfRangeException if this installation has no such shard
     */
    public int shard(ShardKey key) {
        return key.shard(this);
    }

    /**
     * The server of a shard.
     *
     * @throws ShardOutOfRangeException if this installation has no such shard
     */
    public Server server(int shard) {
        return serverOfShard[checkShard(shard)];
    }

    /**
     * The placement of a shard.
     *
     * @throws ShardOutOfRangeException if this installation has no such shard
     */
    public ShardPlacement placement(int shard) {
        return new ShardPlacement(shard, server(shard), epochOfShard[shard]);
    }

    /** The shards of a server; empty if the server is not in the map. */
    public ShardSet shards(Server server) {
        return ShardSet.of(IntStream.range(0, serverOfShard.length)
                .filter(shard -> serverOfShard[shard].equals(server))
                .toArray());
    }

    /** Returns the shard number if the installation has this shard. */
    int checkShard(int shard) {
        if (shard < 0 || shard >= serverOfShard.length) {
            throw ShardOutOfRangeException.ofShard(shard, serverOfShard.length);
        }
        return shard;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ShardMap map
                && version == map.version
                && sharding.equals(map.sharding)
                && layout.equals(map.layout)
                && servers.equals(map.servers)
                && Arrays.equals(serverOfShard, map.serverOfShard)
                && Arrays.equals(epochOfShard, map.epochOfShard);
    }

    @Override
    public int hashCode() {
        return 31 * Long.hashCode(version) + Arrays.hashCode(serverOfShard);
    }

    @Override
    public String toString() {
        return "shard map version %s, %s shards on %s servers".formatted(version, serverOfShard.length, servers.size());
    }
}
