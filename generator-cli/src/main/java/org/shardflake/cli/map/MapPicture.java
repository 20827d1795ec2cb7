/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.map;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.shardflake.ShardMap;
import org.shardflake.load.ShardRate;
import org.shardflake.move.Move;

/**
 * The data for drawing a shard map.
 *
 * @param bytes of each shard's tables with indexes; empty if the servers were not queried
 * @param rates of each server by its name; without servers whose rate is not known
 * @param moves in progress
 */
public record MapPicture(ShardMap map, Map<Integer, Long> bytes, Map<String, ShardRate> rates, List<Move> moves) {

    boolean hasSizes() {
        return !bytes.isEmpty();
    }

    /** The total size of a server's shards. */
    public long bytes(String server) {
        return map.shards(map.server(server)).stream()
                .mapToLong(shard -> bytes.getOrDefault(shard, 0L))
                .sum();
    }

    /** The load of a server, if known. */
    public Optional<ShardRate> rate(String server) {
        return Optional.ofNullable(rates.get(server));
    }

    boolean isMoving(int shard) {
        return moves.stream().anyMatch(move -> move.shardSet().contains(shard));
    }
}
