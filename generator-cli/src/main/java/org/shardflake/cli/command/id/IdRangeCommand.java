/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.IdLayout;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.TimeConverter;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.output.TableWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake id range}: shows the lowest and highest ids of a time range, for selecting by time through the primary key. */
@Command(
        name = "range",
        description = {
            "Shows the smallest and the largest id of a time range, in any shard.",
            "Both ends are included, each with its whole millisecond, as with BETWEEN and the SQL functions shardflake.min_id and shardflake.max_id. An end outside the times that ids hold stands for the first or the last of them."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be asked for the epoch",
            "2:the command line is wrong, or a time out of range"
        },
        footer = {"", "Example: shardflake id range --from 2026-01-01T00:00:00Z --to 2026-01-31T23:59:59.999Z"})
final class IdRangeCommand implements Runnable {

    @Option(
            names = "--from",
            paramLabel = "TIME",
            required = true,
            converter = TimeConverter.class,
            description = "First millisecond, as UTC milliseconds or ISO-8601.")
    private Instant from;

    @Option(
            names = "--to",
            paramLabel = "TIME",
            required = true,
            converter = TimeConverter.class,
            description = "Last millisecond, as UTC milliseconds or ISO-8601.")
    private Instant to;

    @Mixin
    private IdEpochMixin epoch;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        if (from.isAfter(to)) {
            throw CliException.usage("--from %s is after --to %s".formatted(from, to));
        }
        IdLayout layout = epoch.layout();
        if (to.isBefore(layout.epoch()) || from.isAfter(layout.expires())) {
            throw CliException.usage("no id has a time in %s..%s; ids hold times %s..%s"
                    .formatted(from, to, layout.epoch(), layout.expires()));
        }
        long min = layout.minId(from);
        long max = layout.maxId(to);
        output.print(facts(min, max), () -> table(min, max));
    }

    private Map<String, Object> facts(long min, long max) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("from", from.truncatedTo(ChronoUnit.MILLIS).toString());
        facts.put("to", to.truncatedTo(ChronoUnit.MILLIS).toString());
        facts.put("minId", Long.toString(min));
        facts.put("maxId", Long.toString(max));
        return facts;
    }

    private static String table(long min, long max) {
        return new TableWriter("MIN ID", "MAX ID").row(min, max) + "\nWHERE id BETWEEN %s AND %s".formatted(min, max);
    }
}
