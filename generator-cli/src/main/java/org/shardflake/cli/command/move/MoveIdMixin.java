/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import picocli.CommandLine.Parameters;

/** The option that chooses a move. */
class MoveIdMixin {

    @Parameters(
            index = "0",
            arity = "0..1",
            paramLabel = "MOVE",
            description = "The move's number (default: the only one).")
    private @Nullable Long id;

    /** The move with the given number, or the only one if no number was given. */
    Move find(Mover mover) {
        if (id != null) {
            return mover.move(id);
        }
        List<Move> moves = mover.moves();
        if (moves.size() != 1) {
            String numbers =
                    moves.stream().map(move -> String.valueOf(move.id())).collect(Collectors.joining(", "));
            throw new CliException(
                    moves.isEmpty() ? Kind.PRECONDITION : Kind.USAGE,
                    moves.isEmpty() ? "there is no move" : "which move? There are " + numbers,
                    moves.isEmpty() ? Advice.of("begin one with %s", CliCommand.MOVE_START) : "give its number");
        }
        return moves.get(0);
    }
}
