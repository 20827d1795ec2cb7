/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.map;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.DurationConverter;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.map.MapCells;
import org.shardflake.cli.map.MapPage;
import org.shardflake.cli.map.MapPicture;
import org.shardflake.cli.map.ShardMapView;
import org.shardflake.cli.output.HtmlPage;
import org.shardflake.cli.output.OutputFormat;
import org.shardflake.cli.output.Progress;
import org.shardflake.cli.output.TerminalSize;
import org.shardflake.load.LoadSample;
import org.shardflake.load.LoadSampler;
import org.shardflake.load.ShardRate;
import org.shardflake.load.ShardSizes;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake map show}: shows the whole shard map. */
@Command(
        name = "show",
        description = {
            "Shows the shard map: its version, and the shards of each server.",
            "The table has room for the first shards only; json and yaml list all. On a terminal with enough lines it draws the map."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "3:some servers could not be sampled with --rates or --html; the others are shown",
            "4:there is no catalog"
        },
        footer = {"", "Example: shardflake map show -o json"})
final class MapShowCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Option(names = "--cells", description = "Draw a cell for each shard, as on a terminal.")
    private boolean cells;

    @Option(names = "--sizes", description = "Query every server for the sizes of its shards.")
    private boolean sizes;

    @Option(names = "--rates", description = "Measure how many rows are written and read on each server.")
    private boolean rates;

    @Option(
            names = "--over",
            paramLabel = "TIME",
            defaultValue = "3s",
            converter = DurationConverter.class,
            description = "How long to measure (default: ${DEFAULT-VALUE}).")
    private Duration over;

    @Option(
            names = "--html",
            paramLabel = "FILE",
            description = "Write a self-contained page with the map, sizes, ids per second and moves in progress.")
    private @Nullable Path html;

    /** The reasons why rates of servers are missing, by server name. */
    private final Map<String, String> problems = new TreeMap<>();

    @Override
    public Integer call() throws InterruptedException {
        catalog.onlyReads();
        ShardMap map = catalog.catalog().load();
        boolean isDrawn = cells || Progress.isTerminal();
        List<Move> moves = isDrawn || html != null ? Mover.moves(catalog.url()) : List.of();
        MapPicture picture = new MapPicture(map, bytes(map), rates(map), moves);
        if (html != null) {
            HtmlPage.write(html, MapPage.of(picture, Instant.now()));
        }
        output.print(ShardMapView.facts(picture, sizes, rates), () -> ShardMapView.table(picture, sizes, rates));
        if (isDrawn && output.format() == OutputFormat.TABLE) {
            spec.commandLine().getOut().println("\n" + drawn(picture, ShardMapView.table(picture, sizes, rates)));
        }
        return problems.isEmpty() ? ExitCodes.OK : ExitCodes.PARTLY_DONE;
    }

    /** The picture of the shards, unless it would scroll the table out of view. */
    private String drawn(MapPicture picture, String table) {
        String drawing = draw(picture).stripTrailing();
        long lines = table.lines().count() + drawing.lines().count() + 2;
        return cells || lines < TerminalSize.current().height() ? drawing : "(--cells draws the shards, too)";
    }

    private String draw(MapPicture picture) {
        boolean colours = spec.commandLine().getColorScheme().ansi().enabled();
        return MapCells.draw(picture, colours, spec.usageMessage().width());
    }

    private Map<Integer, Long> bytes(ShardMap map) throws InterruptedException {
        if (!sizes && html == null) {
            return Map.of();
        }
        return ShardSizes.read(map, catalog::urlOf).all();
    }

    private Map<String, ShardRate> rates(ShardMap map) throws InterruptedException {
        if (!rates && html == null) {
            return Map.of();
        }
        LoadSampler sampler = new LoadSampler(catalog::urlOf);
        LoadSample before = sampler.sample(map);
        Thread.sleep(over.toMillis());
        LoadSample after = sampler.sample(map);
        problems.putAll(before.problems());
        problems.putAll(after.problems());
        problems.forEach((server, problem) -> catalog.warn("no rates for %s: %s".formatted(server, problem)));
        return after.byServer(before);
    }
}
