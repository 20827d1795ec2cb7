/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.time.Duration;
import org.shardflake.ShardSet;
import org.shardflake.cli.command.option.BytesConverter;
import org.shardflake.cli.command.option.DurationConverter;
import org.shardflake.cli.command.option.ReasonMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.move.Move;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The copy options that all commands starting a move share. */
public class CopyMixin {

    private static final long LEAST_PART = 1 << 20;

    @Option(
            names = "--jobs",
            paramLabel = "N",
            defaultValue = "2",
            description = "How many shards, or parts of one, to copy at a time (default: ${DEFAULT-VALUE}).")
    private int jobs;

    @Option(
            names = "--part-size",
            paramLabel = "BYTES",
            defaultValue = "1GB",
            converter = BytesConverter.class,
            description =
                    "Copy a table of more than ten times this in parts of about this size or less, which are kept if the copy is interrupted (default: ${DEFAULT-VALUE}).")
    private long partSize;

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

    MoveSettings.Builder fill(MoveSettings.Builder settings) {
        if (partSize < LEAST_PART) {
            throw CliException.usage("--part-size is %s bytes; it must be at least 1MB".formatted(partSize));
        }
        return settings.jobs(jobs).partSize(partSize).bytesPerSecond(rate).maxLag(maxLag);
    }

    String reason() {
        return reason.reason();
    }

    /** The existing move of these shards, or a new one if every check passes. */
    Move begin(Mover mover, String source, String target, ShardSet shards, MoveProgress progress) {
        Move move = mover.beginOrResume(source, target, shards, reason());
        progress.begun(mover.status(move));
        return move;
    }
}
