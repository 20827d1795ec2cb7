/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.pool;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;

/**
 * One version of the map with its pools and, if there is an old database, the shards that may still be there. Immutable, and swapped as a
 * whole.
 */
public final class Routes {

    private final ShardMap map;
    private final Map<String, ServerPool> poolByServer;
    private final @Nullable ServerPool old;
    /** The shards that have left the old database. */
    private final BitSet left;

    private final ServerPool[] poolByShard;

    private Routes(ShardMap map, Map<String, ServerPool> poolByServer, @Nullable ServerPool old, BitSet left) {
        this.map = map;
        this.poolByServer = poolByServer;
        this.old = old;
        this.left = left;
        this.poolByShard = new ServerPool[map.sharding().shardCount()];
        for (int shard = 0; shard < poolByShard.length; shard++) {
            poolByShard[shard] = old != null && !left.get(shard) ? old : serverPool(shard);
        }
    }

    /** @param old the pool of the old database, in which all shards are looked for at first; null without one */
    static Routes of(ShardMap map, Function<Server, ServerPool> newPool, @Nullable ServerPool old) {
        Map<String, ServerPool> pools = new LinkedHashMap<>();
        for (Server server : map.servers()) {
            pools.put(server.name(), newPool.apply(server));
        }
        return new Routes(map, pools, old, new BitSet());
    }

    /**
     * The routes of a newer map, which keep the pools of servers that have not changed. A shard that was placed again is looked for in the old
     * database, since it may have come back there.
     */
    Routes next(ShardMap newer, Function<Server, ServerPool> newPool) {
        Map<String, ServerPool> pools = new LinkedHashMap<>();
        for (Server server : newer.servers()) {
            ServerPool known = poolByServer.get(server.name());
            pools.put(server.name(), known != null && known.serves(server) ? known : newPool.apply(server));
        }
        BitSet still = new BitSet();
        left.stream().filter(shard -> isPlacedAlike(newer, shard)).forEach(still::set);
        return new Routes(newer, pools, old, still);
    }

    private boolean isPlacedAlike(ShardMap newer, int shard) {
        ShardPlacement now = newer.placement(shard);
        return now.epoch() == map.placement(shard).epoch();
    }

    /** The same routes for a shard that has left the old database. */
    Routes leaving(int shard) {
        return left.get(shard) ? this : with(shard, true);
    }

    /** The same routes, with a shard that may be in the old database again. */
    Routes returning(int shard) {
        return old == null || !left.get(shard) ? this : with(shard, false);
    }

    private Routes with(int shard, boolean isOver) {
        BitSet others = (BitSet) left.clone();
        others.set(shard, isOver);
        return new Routes(map, poolByServer, old, others);
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

    /** Whether there is an old database that may still have shards. */
    public boolean hasOldDatabase() {
        return old != null;
    }

    public ServerPool pool(int shard) {
        return poolByShard[shard];
    }

    /** The pool of the server that has the shard by the map, also if the shard has not left an old database. */
    public ServerPool serverPool(int shard) {
        return Objects.requireNonNull(poolByServer.get(map.server(shard).name()));
    }

    /** The pools of the servers in the map. */
    public List<ServerPool> pools() {
        return List.copyOf(poolByServer.values());
    }

    /** The pools of these routes, including that of the old database. */
    public List<ServerPool> all() {
        List<ServerPool> all = new ArrayList<>(poolByServer.values());
        if (old != null) {
            all.add(old);
        }
        return all;
    }
}
