/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import org.shardflake.ShardSet;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import org.shardflake.move.ShardPhase;
import picocli.CommandLine.Command;

/** {@code shardflake move reverse}. */
@Command(
        name = "reverse",
        description = {"Makes the source take the writes of shards again, with everything written on the target."},
        footer = {"", "Example: shardflake move reverse 3 --shards 0-9"})
final class MoveReverseCommand extends AbstractCutoverCommand {

    MoveReverseCommand() {
        super("bring back", "brought back");
    }

    @Override
    ShardSet candidates(Move move) {
        return move.shardSet(ShardPhase.SWITCHED);
    }

    @Override
    void run(Mover mover, Move move, ShardSet shards) {
        mover.reverse(move.id(), shards);
    }
}
