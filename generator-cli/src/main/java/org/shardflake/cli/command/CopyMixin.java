/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.time.Duration;
import org.shardflake.ShardSet;
import org.shardflake.move.Move;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The copy options that all commands starting a move share. */
class CopyMixin {

    @Option(
            names = "--jobs",
            paramLabel = "N",
            defaultValue = "2",
            description = "How many shards to copy at a time (default: ${DEFAULT-VALUE}).")
    private int jobs;

    @Option(
            names = "--rate",
            paramLabel = "BYTES",
            defaultValue = "0",
            converter = BytesConverter.class,
            description = "Maximum copy rate per second, such as 20MB (default: no limit).")
    private long rate;

    @Option(
            names = "--max-lag",
            paramLabel = "TIME",
            defaultValue = "10s",
            converter = DurationConverter.class,
            description =
                    "Pause copying while a standby of the target lags by more than this (default: ${DEFAULT-VALUE}).")
    private Duration maxLag;

    @Mixin
    private ReasonMixin reason;

    MoveSettings settings(MoveMixin moves, Duration pause, int pausesPerMinute) {
        return moves.settings(jobs, rate, pausesPerMinute, maxLag, pause, true);
    }

    String reason() {
        return reason.reason();
    }

    /** The existing move of these shards, or a new one if every check passes. */
    Move begin(Mover mover, String source, String target, ShardSet shards, MoveProgress progress) {
        Move move = mover.begin(source, target, shards, reason());
        progress.expect(mover.status(move).bytes());
        return move;
    }
}
