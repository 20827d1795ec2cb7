/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;

/** The steps of routing that need no server; in this package because the way to a pool is not API. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class RoutingCosts {

    private static final IdLayout LAYOUT = IdLayout.DEFAULT;

    // Nothing listens there: pools connect when a connection is asked for, and none is.
    private final ShardMap map = ShardMap.initial(
            new Sharding(Sharding.DEFAULT_SHARD_COUNT),
            LAYOUT,
            List.of(
                    new Server("db1", "postgresql://app@127.0.0.1:1/app"),
                    new Server("db2", "postgresql://app@127.0.0.1:2/app")),
            Spread.CONTIGUOUS);
    private final ShardRouter router = ShardRouter.builder().map(map).build();
    private long uid;
    private long id = LAYOUT.encode(LAYOUT.epochMillis() + 1_000_000_000L, 1234, 567);

    @TearDown
    public void close() {
        router.close();
    }

    @Benchmark
    public long decode() {
        long next = id++;
        return LAYOUT.timeMillis(next) ^ IdLayout.shard(next) ^ IdLayout.sequence(next);
    }

    @Benchmark
    public int uidToShard() {
        return map.shardOfUid(uid++);
    }

    @Benchmark
    public Server idToServer() {
        // Without the shard's three highest bits, so that however far this counts it stays below 1024.
        return map.server(map.shardOfId(id++ & ~(7L << 20)));
    }

    @Benchmark
    public Object uidToPool() {
        Routes routes = router.routes();
        return routes.pool(routes.map().shardOfUid(uid++));
    }
}
