/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.time.Instant;
import java.util.List;
import org.shardflake.ShardSet;

/**
 * A move of shards from one server to another that is not done, as the catalog has it.
 *
 * @param tag what its objects on the servers are named by, such as {@code m3_a1b2c3}
 * @param problem what went wrong last, empty when nothing has since
 */
public record Move(
        long id,
        String tag,
        String source,
        String target,
        MovePhase phase,
        Instant phaseSince,
        Instant startedAt,
        String reason,
        String problem,
        List<MoveShard> shards) {

    /** All of its shards. */
    public ShardSet shardSet() {
        return ShardSet.of(shards.stream().map(MoveShard::shard).toList());
    }

    /** Those that are in a phase. */
    public ShardSet shardSet(ShardPhase phase) {
        return ShardSet.of(shards.stream()
                .filter(shard -> shard.phase() == phase)
                .map(MoveShard::shard)
                .toList());
    }

    /** Tells apart how far it has come, but for single rows: of a copy that is interrupted nothing is left. */
    String progress() {
        return phase + " " + shardSet(ShardPhase.SWITCHED);
    }

    MoveShard shard(int number) {
        return shards.stream()
                .filter(shard -> shard.shard() == number)
                .findFirst()
                .orElseThrow(() -> new MoveRefusedException(
                        "move %d has no shard %d; it has %s".formatted(id, number, shardSet())));
    }
}
