/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.pool;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.shardflake.Server;
import org.shardflake.ShardMap;

/** One version of the map with the pools that go with it. Immutable, and swapped as a whole. */
public final class Routes {

    private final ShardMap map;
    private final Map<String, ServerPool> poolByServer;
    private final ServerPool[] poolByShard;

    private Routes(ShardMap map, Map<String, ServerPool> poolByServer) {
        this.map = map;
        this.poolByServer = poolByServer;
        this.poolByShard = new ServerPool[map.sharding().shardCount()];
        for (int shard = 0; shard < poolByShard.length; shard++) {
            poolByShard[shard] =
                    Objects.requireNonNull(poolByServer.get(map.server(shard).name()));
        }
    }

    static Routes of(ShardMap map, Function<Server, ServerPool> newPool) {
        Map<String, ServerPool> pools = new LinkedHashMap<>();
        for (Server server : map.servers()) {
            pools.put(server.name(), newPool.apply(server));
        }
        return new Routes(map, pools);
    }

    /** The routes of a newer map, which keep the pools of servers that have not changed. */
    Routes next(ShardMap newer, Function<Server, ServerPool> newPool) {
        Map<String, ServerPool> pools = new LinkedHashMap<>();
        for (Server server : newer.servers()) {
            ServerPool old = poolByServer.get(server.name());
            pools.put(server.name(), old != null && old.serves(server) ? old : newPool.apply(server));
        }
        return new Routes(newer, pools);
    }

    /** The pools of these routes that the others lack. */
    List<ServerPool> without(Routes others) {
        Map<String, ServerPool> gone = new HashMap<>(poolByServer);
        gone.values().removeAll(others.poolByServer.values());
        return List.copyOf(gone.values());
    }

    public ShardMap map() {
        return map;
    }

    public ServerPool pool(int shard) {
        return poolByShard[shard];
    }

    public List<ServerPool> pools() {
        return List.copyOf(poolByServer.values());
    }
}
