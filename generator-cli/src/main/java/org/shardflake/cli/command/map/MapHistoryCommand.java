/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.map;

import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.catalog.MapChange;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.output.TableWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake map history}: shows what was changed, when, by whom and why. */
@Command(
        name = "history",
        description = "Shows the latest changes of the shard map, the newest first.",
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is no catalog"
        },
        footer = {"", "Example: shardflake map history --limit 5"})
public final class MapHistoryCommand implements Runnable {

    @Option(
            names = "--limit",
            paramLabel = "N",
            defaultValue = "20",
            description = "Maximum number of changes to show (default: ${DEFAULT-VALUE}).")
    private int limit;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        catalog.onlyReads();
        if (limit < 1) {
            throw CliException.usage("limit is %s, allowed: 1 or more".formatted(limit));
        }
        List<MapChange> changes = catalog.catalog().history(limit);
        output.print(changes.stream().map(MapHistoryCommand::facts).toList(), () -> table(changes));
    }

    public static Map<String, Object> facts(MapChange change) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("version", change.version());
        facts.put("time", change.time().toString());
        facts.put("user", change.user());
        facts.put("change", change.change());
        change.shard().ifPresent(shard -> facts.put("shard", shard));
        change.server().ifPresent(server -> facts.put("server", server));
        change.fromServer().ifPresent(server -> facts.put("fromServer", server));
        change.epoch().ifPresent(epoch -> facts.put("epoch", epoch));
        facts.put("reason", change.reason());
        return facts;
    }

    private static String table(List<MapChange> changes) {
        TableWriter table = new TableWriter(
                        "VERSION", "TIME", "USER", "CHANGE", "SHARD", "SERVER", "FROM", "EPOCH", "REASON")
                .mayLeaveOut("EPOCH", "USER", "VERSION", "FROM", "SERVER", "REASON", "SHARD");
        for (MapChange change : changes) {
            Map<String, Object> facts = facts(change);
            table.row(
                    change.version(),
                    change.time().truncatedTo(ChronoUnit.SECONDS),
                    change.user(),
                    change.change(),
                    facts.getOrDefault("shard", ""),
                    facts.getOrDefault("server", ""),
                    facts.getOrDefault("fromServer", ""),
                    facts.getOrDefault("epoch", ""),
                    change.reason());
        }
        return table.toString();
    }
}
