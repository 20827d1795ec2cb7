/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.time.Instant;
import java.util.List;
import org.shardflake.ShardSet;

/**
 * An unfinished move of shards from one server to another, as recorded in the catalog.
 *
 * @param tag the part of the names of its objects on the servers, such as {@code m3_a1b2c3}
 * @param problem the last problem, empty if there has been none since
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

    /** The shards that are in a phase. */
    public ShardSet shardSet(ShardPhase phase) {
        return ShardSet.of(shards.stream()
                .filter(shard -> shard.phase() == phase)
                .map(MoveShard::shard)
                .toList());
    }

    /** Identifies its progress, except within shards. */
    String progress() {
        // A copy that begins again goes back from the second phase to the first.
        return phase.compareTo(MovePhase.COPYING) <= 0
                ? MovePhase.COPYING + " " + shardSet(ShardPhase.COPIED)
                : phase + " " + shardSet(ShardPhase.SWITCHED);
    }

    MoveShard shard(int number) {
        return shards.stream()
                .filter(shard -> shard.shard() == number)
                .findFirst()
                .orElseThrow(() -> new MoveRefusedException(
                        "move %s has no shard %s; it has %s".formatted(id, number, shardSet())));
    }

    /** The command that gives it up where its shards are now, without "shardflake": those on the target stay there. */
    public String cancelCommand() {
        return "move cancel %s%s".formatted(id, shardSet(ShardPhase.SWITCHED).isEmpty() ? "" : " --keep-moved");
    }

    /** What to do about a move that cannot go on, as when its replication has lost something. */
    public String wayOut() {
        ShardSet left = ShardSet.of(shards.stream()
                .filter(shard -> shard.phase() != ShardPhase.SWITCHED)
                .map(MoveShard::shard)
                .toList());
        String end = "end the move with shardflake " + cancelCommand();
        if (left.isEmpty()) {
            return "%s: all of its shards are on %s, and stay there".formatted(end, target);
        }
        return left.equals(shardSet())
                ? end + ", and begin again"
                : "%s, which leaves those on %s there, and begin again for shards %s".formatted(end, target, left);
    }

    /** The command that goes on with it, if nobody does, without "shardflake". */
    public String nextCommand() {
        return switch (phase) {
            case PREPARING, COPYING, CATCHING_UP -> "move start --shards %s --to %s".formatted(shardSet(), target);
            case FOLLOWING ->
                "move %s %s".formatted(shardSet(ShardPhase.SWITCHED).equals(shardSet()) ? "complete" : "cutover", id);
            case COMPLETING -> "move complete %s".formatted(id);
            case CANCELLING -> "move cancel %s".formatted(id);
        };
    }
}
