/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.map.InsertRates;
import org.shardflake.cli.map.MapCells;
import org.shardflake.cli.map.MapPage;
import org.shardflake.cli.map.MapPicture;
import org.shardflake.cli.output.Progress;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import org.shardflake.rebalance.ShardSizes;
import org.shardflake.server.ServerUrl;
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
            "The table has room for the first shards only; json and yaml list all. On a terminal it draws the map."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be reached, or failed",
            "2:the command line is wrong",
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

    @Option(
            names = "--html",
            paramLabel = "FILE",
            description = "Write a self-contained page with the map, sizes, ids per second and moves under way.")
    private @Nullable Path html;

    @Override
    public Integer call() throws SQLException, InterruptedException {
        catalog.onlyReads();
        ShardMap map = catalog.catalog().load();
        boolean isDrawn = cells || Progress.isTerminal();
        List<Move> moves = isDrawn || html != null ? Mover.moves(catalog.url()) : List.of();
        MapPicture picture = new MapPicture(map, bytes(map), html == null ? Map.of() : rates(map), moves);
        if (html != null) {
            write(html, MapPage.of(picture, Instant.now()));
        }
        PrintWriter out = spec.commandLine().getOut();
        output.print(out, ShardMapView.facts(picture, sizes), () -> {
            String table = ShardMapView.table(picture, sizes);
            return isDrawn ? table + "\n" + draw(picture) : table;
        });
        return ExitCodes.OK;
    }

    private String draw(MapPicture picture) {
        boolean colours = spec.commandLine().getColorScheme().ansi().enabled();
        return MapCells.draw(picture, colours, spec.usageMessage().width());
    }

    private Map<Integer, Long> bytes(ShardMap map) throws InterruptedException {
        if (!sizes && html == null) {
            return Map.of();
        }
        ShardSizes read = ShardSizes.read(map, server -> catalog.parse(server.url()));
        Map<Integer, Long> bytes = new HashMap<>();
        for (int shard = 0; shard < map.sharding().shardCount(); shard++) {
            bytes.put(shard, read.bytes(shard));
        }
        return bytes;
    }

    private Map<String, Double> rates(ShardMap map) throws SQLException, InterruptedException {
        Map<String, ServerUrl> urls = new HashMap<>();
        map.servers().forEach(server -> urls.put(server.name(), catalog.parse(server.url())));
        return InsertRates.measure(map, urls);
    }

    private static void write(Path file, String page) {
        try {
            Files.writeString(file, page);
        } catch (IOException e) {
            throw FileFailure.explain("write", file.toString(), e);
        }
    }
}
