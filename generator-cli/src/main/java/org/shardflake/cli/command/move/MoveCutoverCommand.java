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

/** {@code shardflake move cutover}. */
@Command(
        name = "cutover",
        description = {
            "Makes the target take the writes of shards, one by one; the source follows from then on.",
            "Writers wait a few milliseconds per shard. Work given to the router as a lambda sees no error."
        },
        footer = {"", "Example: shardflake move cutover 3 --shards 0-9"})
final class MoveCutoverCommand extends AbstractCutoverCommand {

    MoveCutoverCommand() {
        super("cut over", "cut over");
    }

    @Override
    ShardSet candidates(Move move) {
        return move.shardSet(ShardPhase.COPIED);
    }

    @Override
    void run(Mover mover, Move move, ShardSet shards) {
        mover.cutOver(move.id(), shards);
    }
}
