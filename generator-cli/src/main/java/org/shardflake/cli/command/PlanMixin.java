/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.load.LoadSample;
import org.shardflake.load.LoadSampler;
import org.shardflake.load.ShardRate;
import org.shardflake.load.ShardSizes;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import org.shardflake.rebalance.RebalanceBy;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.rebalance.RebalancePlanFile;
import org.shardflake.rebalance.RebalancePlanner;
import org.shardflake.rebalance.RebalanceSettings;
import org.shardflake.rebalance.ShardLoads;
import picocli.CommandLine.Option;

/** The plan options shared by {@code rebalance plan} and {@code server drain}. */
final class PlanMixin {

    /** How many changes of the map to look at for shards that moved: more than there are shards. */
    private static final int HISTORY = 10_000;

    private static final int UNNOTICED_SECONDS = 3;

    @Option(
            names = "--by",
            paramLabel = "WHAT",
            defaultValue = "bytes",
            converter = ByNames.class,
            completionCandidates = ByNames.class,
            description =
                    "The load to balance: the bytes of the shards; their count, which needs no query to a server; the rate"
                            + " at which rows are written; or both rate and bytes, each by itself (default: ${DEFAULT-VALUE}).")
    private RebalanceBy by;

    @Option(
            names = "--over",
            paramLabel = "TIME",
            defaultValue = "60s",
            converter = DurationConverter.class,
            description = "How long to measure rates (default: ${DEFAULT-VALUE}).")
    private Duration over;

    @Option(
            names = "--rest",
            paramLabel = "TIME",
            defaultValue = "60m",
            converter = DurationConverter.class,
            description =
                    "By rate or both, leave shards where they are for so long after a move, unless their server is beyond twice the threshold"
                            + " (default: ${DEFAULT-VALUE}).")
    private Duration rest;

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
                            + " it adds to the target; not by rate or both, where the bytes copied decide (default: ${DEFAULT-VALUE}).")
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
                    by.isByRate() ? recent(catalog) : ShardSet.of(),
                    new LinkedHashSet<>(drained),
                    new LinkedHashSet<>(excluded),
                    maxMoves,
                    threshold,
                    improvement);
            return RebalancePlanner.plan(map, loads(map, catalog), settings);
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

    /** The shards that changed their server not long ago, as the catalog's history has it. */
    private ShardSet recent(CatalogMixin catalog) {
        Instant since = Instant.now().minus(rest);
        return ShardSet.of(catalog.catalog().history(HISTORY).stream()
                .filter(change ->
                        change.time().isAfter(since) && change.fromServer().isPresent())
                .flatMap(change -> change.shard().stream().boxed())
                .collect(Collectors.toSet()));
    }

    private ShardLoads loads(ShardMap map, CatalogMixin catalog) throws InterruptedException {
        if (by == RebalanceBy.COUNT) {
            return ShardLoads.ofBytes(shard -> 0);
        }
        Map<Integer, ShardRate> rates = by.isByRate() ? rates(map, catalog) : Map.of();
        return new ShardLoads(
                ShardSizes.read(map, server -> catalog.parse(server.url()))::bytes,
                shard -> rates.getOrDefault(shard, ShardRate.NONE).written());
    }

    private Map<Integer, ShardRate> rates(ShardMap map, CatalogMixin catalog) throws InterruptedException {
        LoadSampler sampler = new LoadSampler(server -> catalog.parse(server.url()));
        LoadSample before = whole(sampler.sample(map));
        if (over.toSeconds() > UNNOTICED_SECONDS) {
            catalog.say("measuring the load for %s".formatted(MoveView.duration(over)));
        }
        Thread.sleep(over.toMillis());
        Map<Integer, ShardRate> rates = whole(sampler.sample(map)).since(before);
        int unknown = map.sharding().shardCount() - rates.size();
        if (unknown > 0) {
            throw new CliException(
                    Kind.FAILURE,
                    "the rate of %s is not known: they moved, or counters were reset or lost while they were measured"
                            .formatted(ShardMapView.count(unknown)),
                    "run the command again");
        }
        return rates;
    }

    private static LoadSample whole(LoadSample sample) {
        sample.problems().forEach((server, problem) -> {
            throw new CliException(
                    Kind.FAILURE,
                    "cannot measure the load of server %s: %s".formatted(server, problem),
                    "a plan by count needs no server");
        });
        return sample;
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

    static final class ByNames extends EnumNames<RebalanceBy> {
        ByNames() {
            super(RebalanceBy.class);
        }
    }
}
