/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.move.Move;

/**
 * What the catalog and the servers say. The catalog was read before the servers and again after them, so that what changed
 * meanwhile is not taken for a fault.
 *
 * @param before the shard map before the servers were read
 * @param map the shard map after it
 * @param moves those that either reading had
 * @param facts by the name of the server; those that could be read
 */
record Knowledge(ShardMap before, ShardMap map, List<Move> moves, Map<String, ServerFacts> facts) {

    static List<Move> union(List<Move> before, List<Move> after) {
        Map<String, Move> byTag = new LinkedHashMap<>();
        before.forEach(move -> byTag.put(move.tag(), move));
        after.forEach(move -> byTag.put(move.tag(), move));
        return List.copyOf(byTag.values());
    }

    /** Whether a shard's place is known, and nobody is about to change it. */
    boolean isSettled(int shard) {
        return shard < map.sharding().shardCount()
                && before.server(shard).equals(map.server(shard))
                && moves.stream().noneMatch(move -> move.shardSet().contains(shard));
    }

    /** Whether servers have parts of moves that the catalog does not know, so that it may be older than they are. */
    boolean hasUnknownMoves() {
        return facts.values().stream()
                .flatMap(server -> server.remnants().stream())
                .anyMatch(remnant -> !hasMove(remnant.tag()));
    }

    boolean hasMove(String tag) {
        return moves.stream().anyMatch(move -> move.tag().equals(tag));
    }

    String owner(int shard) {
        return map.server(shard).name();
    }

    /** Whether a server that could be read has a shard. */
    boolean isOn(String server, int shard) {
        ServerFacts its = facts.get(server);
        return its != null && its.shards().containsKey(shard);
    }

    /** Whether no server but this one has a shard; unknown counts as no. */
    boolean isOnlyOn(String server, int shard) {
        return facts.size() == map.servers().size()
                && facts.keySet().stream().allMatch(name -> name.equals(server) || !isOn(name, shard));
    }

    ShardSet shardsOf(String server) {
        return map.shards(map.server(server));
    }
}
