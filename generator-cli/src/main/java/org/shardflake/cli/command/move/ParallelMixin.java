/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import org.shardflake.cli.error.CliException;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.parallel.ParallelMoves;
import picocli.CommandLine.Option;

/** The options that limit what several concurrent moves may use together. */
public final class ParallelMixin {

    @Option(
            names = "--parallel",
            paramLabel = "N",
            defaultValue = "" + ParallelMoves.DEFAULT,
            description =
                    "Number of concurrent moves, each between two servers (default: ${DEFAULT-VALUE}). --jobs is for each of them, --rate for all together.")
    private int parallel;

    @Option(
            names = "--pauses-per-minute",
            paramLabel = "N",
            defaultValue = "0",
            description = "Maximum cutover attempts per minute, over all moves (default: no limit).")
    private int pausesPerMinute;

    MoveSettings.Builder fill(MoveSettings.Builder settings) {
        return settings.pausesPerMinute(pausesPerMinute);
    }

    ParallelMoves moves(Mover mover, String reason, boolean keep, ParallelMoves.Watcher watcher) {
        try {
            return new ParallelMoves(mover, parallel, reason, keep, watcher);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }
}
