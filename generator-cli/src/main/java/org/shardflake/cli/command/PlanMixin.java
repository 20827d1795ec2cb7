/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntToLongFunction;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cli.error.CliException;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import org.shardflake.rebalance.RebalanceBy;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.rebalance.RebalancePlanFile;
import org.shardflake.rebalance.RebalancePlanner;
import org.shardflake.rebalance.RebalanceSettings;
import org.shardflake.rebalance.ShardSizes;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The plan options shared by {@code rebalance plan} and {@code server drain}. */
final class PlanMixin {

    @Option(
            names = "--by",
            paramLabel = "WHAT",
            defaultValue = "bytes",
            converter = ByConverter.class,
            description =
                    "The load to balance: the bytes of the shards, or their count, which needs no query to a server"
                            + " (default: ${DEFAULT-VALUE}).")
    private RebalanceBy by;

    @Option(
            names = "--pin",
            paramLabel = "SHARDS",
            description = "Shards that must stay where they are, such as 7,100-120. May be repeated.")
    private List<String> pins = new ArrayList<>();

    @Option(
            names = "--exclude",
            paramLabel = "NAME",
            completionCandidates = ServerNames.class,
            description = "A server that must not receive shards. May be repeated.")
    private List<String> excluded = new ArrayList<>();

    @Option(
            names = "--max-moves",
            paramLabel = "N",
            defaultValue = "8192",
            description = "Move at most this many shards (default: no limit).")
    private int maxMoves;

    @Option(
            names = "--threshold",
            paramLabel = "PERCENT",
            defaultValue = "" + RebalanceSettings.DEFAULT_THRESHOLD,
            description = "Leave alone servers whose load is this close to the mean (default: ${DEFAULT-VALUE}).")
    private int threshold;

    @Option(
            names = "--improvement",
            paramLabel = "PERCENT",
            defaultValue = "" + RebalanceSettings.DEFAULT_IMPROVEMENT,
            description =
                    "Minimum gain of a move that leaves its target more loaded than its source, in percent of the load"
                            + " it adds to the target (default: ${DEFAULT-VALUE}).")
    private int improvement;

    @Option(
            names = {"-f", "--file"},
            paramLabel = "FILE",
            description = "Write the plan to this file atomically, replacing an existing one.")
    private @Nullable Path file;

    boolean hasFile() {
        return file != null;
    }

    RebalancePlan plan(ShardMap map, CatalogMixin catalog, Collection<String> drained) throws InterruptedException {
        if (file != null && Files.isDirectory(file)) {
            throw CliException.usage("%s is a directory; --file names a file".formatted(file));
        }
        try {
            RebalanceSettings settings = new RebalanceSettings(
                    by,
                    pinned(map, catalog, drained),
                    new LinkedHashSet<>(drained),
                    new LinkedHashSet<>(excluded),
                    maxMoves,
                    threshold,
                    improvement);
            return RebalancePlanner.plan(map, bytes(map, catalog), settings);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    /** The shards that the user pins, and those being moved, unless they have to leave their server anyway. */
    private ShardSet pinned(ShardMap map, CatalogMixin catalog, Collection<String> drained) {
        Set<Integer> pinned = new TreeSet<>();
        if (!pins.isEmpty()) {
            ShardSet.parse(String.join(",", pins)).stream().forEach(pinned::add);
        }
        for (Move move : Mover.moves(catalog.url())) {
            move.shardSet().stream()
                    .filter(shard -> !drained.contains(map.server(shard).name()))
                    .forEach(pinned::add);
        }
        return ShardSet.of(pinned);
    }

    private IntToLongFunction bytes(ShardMap map, CatalogMixin catalog) throws InterruptedException {
        if (by == RebalanceBy.COUNT) {
            return shard -> 0;
        }
        Map<Server, ServerUrl> urls = new LinkedHashMap<>();
        map.servers().forEach(server -> urls.put(server, catalog.parse(server.url())));
        return ShardSizes.read(map, urls::get)::bytes;
    }

    /** Writes the plan, if a file was given. */
    void write(RebalancePlan plan) {
        if (file == null) {
            return;
        }
        try {
            RebalancePlanFile.write(plan, file);
        } catch (IOException e) {
            throw FileFailure.explain("write", file.toString(), e);
        }
    }

    /** The destination of the plan, for display. */
    String written() {
        return file == null ? "" : "\nwrote the plan to %s; shardflake rebalance apply carries it out".formatted(file);
    }

    static final class ByConverter implements ITypeConverter<RebalanceBy> {
        @Override
        public RebalanceBy convert(String text) {
            return switch (text) {
                case "bytes" -> RebalanceBy.BYTES;
                case "count" -> RebalanceBy.COUNT;
                default -> throw new TypeConversionException("'%s' is not one of bytes, count".formatted(text));
            };
        }
    }
}
