/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.shardflake.IdLayout;
import org.shardflake.cli.error.CliException;
import picocli.CommandLine.Option;

/** The option with the epoch of a new installation. */
public final class EpochMixin {

    @Option(
            names = "--epoch",
            paramLabel = "TIME",
            converter = TimeConverter.class,
            description =
                    "The moment from which the time in ids counts, as UTC milliseconds or ISO-8601 (default: 2025-01-01T00:00:00Z).")
    private Instant epoch = IdLayout.DEFAULT.epoch();

    public IdLayout layout() {
        return layout(epoch);
    }

    /**
     * The layout of ids that count from an instant.
     *
     * @throws CliException if no ids can
     */
    public static IdLayout layout(Instant epoch) {
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
