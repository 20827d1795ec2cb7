/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.move.Move;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.Preflight;
import org.shardflake.move.PreflightCheck;
import org.shardflake.move.PreflightCheck.Outcome;
import org.shardflake.move.PreflightReport;
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

    MoveSettings settings(MoveMixin moves, Duration pause) {
        return moves.settings(jobs, rate, maxLag, pause, true);
    }

    /** The existing move of these shards, or a new one if every check passes. */
    Move begin(MoveMixin moves, Mover mover, String source, String target, ShardSet shards, MoveProgress progress) {
        Optional<Move> begun = mover.begun(source, target, shards);
        if (begun.isEmpty()) {
            progress.warn(requirePassing(moves, source, target, shards).with(Outcome.WARNING));
        }
        Move move = begun.isPresent() ? begun.get() : mover.create(source, target, shards, reason.reason());
        progress.expect(mover.status(move).bytes());
        return move;
    }

    /** Refuses shards that cannot be moved. */
    static PreflightReport requirePassing(MoveMixin moves, String source, String target, ShardSet shards) {
        PreflightReport report = check(moves, source, target, shards);
        List<PreflightCheck> failed = report.with(Outcome.FAILED);
        if (failed.isEmpty()) {
            return report;
        }
        PreflightCheck first = failed.get(0);
        throw new CliException(
                Kind.PRECONDITION,
                "check %s failed: %s%s"
                        .formatted(
                                first.name(),
                                first.found(),
                                failed.size() > 1
                                        ? " (and %d more; see move start --dry-run)".formatted(failed.size() - 1)
                                        : ""),
                first.remedy());
    }

    static PreflightReport check(MoveMixin moves, String source, String target, ShardSet shards) {
        ShardMap map = moves.map();
        return Preflight.run(moves.server(map, source), moves.server(map, target), shards);
    }
}
