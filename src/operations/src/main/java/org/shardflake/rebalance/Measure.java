/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.util.List;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.shardflake.ShardMap;

/**
 * One measure of load.
 *
 * @param of what a shard has of it
 * @param mean of the servers, relative to their capacities
 */
record Measure(IntToDoubleFunction of, double mean) {

    static List<Measure> of(ShardMap map, ShardLoads loads, RebalanceSettings settings) {
        IntToDoubleFunction bytes = shard -> loads.bytes().applyAsLong(shard);
        List<IntToDoubleFunction> all = switch (settings.by()) {
            case COUNT -> List.of(shard -> 1);
            case BYTES -> List.of(bytes);
            case RATE -> List.of(loads.rate());
            case BOTH -> List.of(loads.rate(), bytes);
        };
        double capacity = map.servers().stream()
                .filter(server -> !settings.drained().contains(server.name()))
                .mapToDouble(ServerLoad::capacity)
                .sum();
        int shards = map.sharding().shardCount();
        return all.stream()
                .map(of -> new Measure(
                        of, IntStream.range(0, shards).mapToDouble(of).sum() / capacity))
                .toList();
    }

    /** The same measure with the mean of the servers that can still be balanced. */
    Measure withMean(double other) {
        return new Measure(of, other);
    }
}
