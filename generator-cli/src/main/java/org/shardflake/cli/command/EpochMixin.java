/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.shardflake.IdLayout;
import org.shardflake.cli.error.CliException;
import picocli.CommandLine.Option;

/** The epoch of the ids that a command handles. */
final class EpochMixin {

    @Option(
            names = "--epoch",
            paramLabel = "TIME",
            converter = TimeConverter.class,
            description =
                    "What the time in ids counts from, as UTC milliseconds or ISO-8601 (default: 2025-01-01T00:00:00Z).")
    private Instant epoch = IdLayout.DEFAULT.epoch();

    /** The epoch, even one that {@link IdLayout} would refuse. */
    Instant epoch() {
        return epoch;
    }

    IdLayout layout() {
        if (!epoch.equals(epoch.truncatedTo(ChronoUnit.MILLIS))) {
            throw CliException.usage("epoch %s is not a whole millisecond".formatted(epoch));
        }
        try {
            return new IdLayout(epoch.toEpochMilli());
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }
}
