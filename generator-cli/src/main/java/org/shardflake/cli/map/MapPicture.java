/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.map;

import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import org.shardflake.ShardMap;
import org.shardflake.move.Move;

/**
 * The data for drawing a shard map.
 *
 * @param bytes of each shard's tables with indexes; empty if the servers were not queried
 * @param rowsPerSecond inserted on each server, each with an id, by its name; empty if the servers were not queried
 * @param moves under way
 */
public record MapPicture(ShardMap map, Map<Integer, Long> bytes, Map<String, Double> rowsPerSecond, List<Move> moves) {

    boolean hasSizes() {
        return !bytes.isEmpty();
    }

    /** The total over all shards of a server. */
    public long bytes(String server) {
        return map.shards(map.server(server)).stream()
                .mapToLong(shard -> bytes.getOrDefault(shard, 0L))
                .sum();
    }

    OptionalDouble rowsPerSecond(String server) {
        Double rows = rowsPerSecond.get(server);
        return rows == null ? OptionalDouble.empty() : OptionalDouble.of(rows);
    }

    boolean isMoving(int shard) {
        return moves.stream().anyMatch(move -> move.shardSet().contains(shard));
    }
}
