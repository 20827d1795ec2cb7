/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.IdLayout;
import org.shardflake.Sharding;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.TimeConverter;
import org.shardflake.cli.error.CliException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake id encode}: computes the id of three fields. */
@Command(
        name = "encode",
        description = "Computes the id of a time, a shard and a sequence number, without a server.",
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be asked for the epoch",
            "2:the command line is wrong, or a field out of range"
        },
        footer = {"", "Example: shardflake id encode --time 2026-01-31T12:00:00Z --shard 7 --sequence 0"})
final class IdEncodeCommand implements Runnable {

    @Option(
            names = "--time",
            paramLabel = "TIME",
            required = true,
            converter = TimeConverter.class,
            description = "UTC milliseconds or ISO-8601; fractions of a millisecond are dropped.")
    private Instant time;

    @Option(names = "--shard", paramLabel = "N", required = true, description = "The shard, 0..8191.")
    private int shard;

    @Option(names = "--sequence", paramLabel = "N", required = true, description = "The sequence number, 0..1023.")
    private int sequence;

    @Mixin
    private IdEpochMixin epoch;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        IdLayout layout = epoch.layout();
        long id;
        try {
            id = layout.encode(time.toEpochMilli(), shard, sequence);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
        output.print(facts(layout, id), () -> Long.toString(id));
    }

    private static Map<String, Object> facts(IdLayout layout, long id) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("id", Long.toString(id));
        facts.put("time", layout.time(id).toString());
        facts.put("timeMillis", layout.timeMillis(id));
        facts.put("shard", IdLayout.shard(id));
        facts.put("sequence", IdLayout.sequence(id));
        facts.put("schema", Sharding.schema(IdLayout.shard(id)));
        return facts;
    }
}
