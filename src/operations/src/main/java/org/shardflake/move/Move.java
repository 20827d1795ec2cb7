/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.exception.MoveRefusedException;

/**
 * An unfinished move of shards from one server to another, as recorded in the catalog.
 *
 * @param tag the part of the names of its objects on the servers, such as {@code m3_a1b2c3}
 * @param problem the last problem, empty if there has been none since
 * @param workedOnSince when the running command took it up; empty if no command works on it
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
        Optional<Instant> workedOnSince,
        List<MoveShard> shards) {

    /** All shards of the move. */
    public ShardSet shardSet() {
        return ShardSet.of(shards.stream().map(MoveShard::shard).toList());
    }

    /** Whether no command is working on the move although its phase needs one. A move that follows waits for its cutover, and is not abandoned. */
    public boolean isAbandoned() {
        return workedOnSince.isEmpty() && phase != MovePhase.FOLLOWING;
    }

    /** The shards that are in a phase. */
    public ShardSet shardSet(ShardPhase phase) {
        return ShardSet.of(shards.stream()
                .filter(shard -> shard.phase() == phase)
                .map(MoveShard::shard)
                .toList());
    }

    /** A text that changes when the move progresses, except within shards. */
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

    /** The command that gives up the move and leaves its shards where they are now, also those on the target. */
    public CliCommand cancelCommand() {
        return (shardSet(ShardPhase.SWITCHED).isEmpty() ? CliCommand.MOVE_CANCEL : CliCommand.MOVE_CANCEL_KEEPING)
                .with(id);
    }

    /** The {@link #cancelCommand} without a comparison of the copies that it removes. */
    CliCommand cancelUncomparedCommand() {
        return (shardSet(ShardPhase.SWITCHED).isEmpty()
                        ? CliCommand.MOVE_CANCEL_UNCOMPARED
                        : CliCommand.MOVE_CANCEL_KEEPING_UNCOMPARED)
                .with(id);
    }

    /** The advice for a move that cannot continue, for example because its replication has lost something. */
    public Advice wayOut() {
        ShardSet left = ShardSet.of(shards.stream()
                .filter(shard -> shard.phase() != ShardPhase.SWITCHED)
                .map(MoveShard::shard)
                .toList());
        Advice end = Advice.of("end the move with %s", cancelCommand());
        if (left.isEmpty()) {
            return Advice.of("%s: all of its shards are on %s, and stay there", end, target);
        }
        return left.equals(shardSet())
                ? Advice.of("%s, and begin again", end)
                : Advice.of(
                        "%s, which leaves those on %s there, and begin again for %s", end, target, Plural.shards(left));
    }

    /** The command that continues the move when no command is running it. */
    public CliCommand nextCommand() {
        return switch (phase) {
            case PREPARING, COPYING, CATCHING_UP -> CliCommand.MOVE_START.with(shardSet(), target);
            case FOLLOWING ->
                (shardSet(ShardPhase.SWITCHED).equals(shardSet()) ? CliCommand.MOVE_COMPLETE : CliCommand.MOVE_CUTOVER)
                        .with(id);
            case COMPLETING -> CliCommand.MOVE_COMPLETE.with(id);
            case CANCELLING -> CliCommand.MOVE_CANCEL.with(id);
        };
    }
}
