/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.rebalance;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.DurationConverter;
import org.shardflake.cli.command.option.EnumNames;
import org.shardflake.cli.command.option.ServerNames;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.TaskProgress;
import org.shardflake.load.LoadSample;
import org.shardflake.load.LoadSampler;
import org.shardflake.load.ShardRate;
import org.shardflake.load.ShardSizes;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import org.shardflake.rebalance.AutoSettings;
import org.shardflake.rebalance.RebalanceBy;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.rebalance.RebalancePlanner;
import org.shardflake.rebalance.RebalanceSettings;
import org.shardflake.rebalance.RecentMoves;
import org.shardflake.rebalance.ShardLoads;
import picocli.CommandLine.Option;

/** The plan options shared by {@code rebalance plan}, {@code rebalance run} and {@code server drain}. */
class PlanMixin {

    private static final int UNNOTICED_SECONDS = 3;

    @Option(
            names = "--by",
            paramLabel = "WHAT",
            converter = ByNames.class,
            completionCandidates = ByNames.class,
            description =
                    "The load to balance: the bytes of the shards; their count, which needs no query to a server; the rate"
                            + " at which rows are written; or both rate and bytes, each separately (default: bytes, and rate for rebalance run).")
    private @Nullable RebalanceBy given;

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
                    "By rate or both, leave shards where they are for this long after a move, unless their server is beyond twice the threshold;"
                            + " by rebalance run in any case (default: ${DEFAULT-VALUE}).")
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

    RebalancePlan plan(ShardMap map, CatalogMixin catalog, Collection<String> drained) throws InterruptedException {
        try {
            RebalanceBy by = by(RebalanceBy.BYTES);
            ShardSet recent =
                    by.isByRate() ? RecentMoves.within(rest, catalog.catalog()).shards() : ShardSet.of();
            RebalanceSettings settings = settings(by, pinned(map, catalog, drained), recent, drained);
            return RebalancePlanner.plan(map, loads(map, catalog, by), settings);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    /** The settings for making and carrying out plans repeatedly. */
    AutoSettings settings(Duration watch, int slower, int budget) {
        try {
            RebalanceSettings plan = settings(by(RebalanceBy.RATE), pins(), ShardSet.of(), List.of());
            return new AutoSettings(plan, over, rest, watch, slower, budget);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    private ShardSet pins() {
        return pins.isEmpty() ? ShardSet.of() : ShardSet.parse(String.join(",", pins));
    }

    private RebalanceBy by(RebalanceBy usual) {
        return given == null ? usual : given;
    }

    private RebalanceSettings settings(RebalanceBy by, ShardSet pinned, ShardSet recent, Collection<String> drained) {
        return new RebalanceSettings(
                by,
                pinned,
                recent,
                new LinkedHashSet<>(drained),
                new LinkedHashSet<>(excluded),
                maxMoves,
                threshold,
                improvement);
    }

    /** The pinned shards: those that the user has named and those in a move, unless they have to leave their server anyway. */
    private ShardSet pinned(ShardMap map, CatalogMixin catalog, Collection<String> drained) {
        Set<Integer> pinned = new TreeSet<>();
        pins().stream().forEach(pinned::add);
        for (Move move : Mover.moves(catalog.url())) {
            move.shardSet().stream()
                    .filter(shard -> !drained.contains(map.server(shard).name()))
                    .forEach(pinned::add);
        }
        return ShardSet.of(pinned);
    }

    private ShardLoads loads(ShardMap map, CatalogMixin catalog, RebalanceBy by) throws InterruptedException {
        if (by == RebalanceBy.COUNT) {
            return ShardLoads.ofBytes(shard -> 0);
        }
        Map<Integer, ShardRate> rates = by.isByRate() ? rates(map, catalog) : Map.of();
        return ShardLoads.measured(ShardSizes.read(map, catalog::urlOf), rates);
    }

    /** Announces how long the sample takes, to explain the wait. */
    void sayHowLong(CatalogMixin catalog) {
        if (over.toSeconds() > UNNOTICED_SECONDS) {
            catalog.say("measuring the load for %s".formatted(Amounts.duration(over)));
        }
    }

    private Map<Integer, ShardRate> rates(ShardMap map, CatalogMixin catalog) throws InterruptedException {
        LoadSampler sampler = new LoadSampler(catalog::urlOf);
        LoadSample before = sampler.sample(map).whole();
        sayHowLong(catalog);
        measure(catalog);
        return sampler.sample(map).whole().allSince(before);
    }

    private void measure(CatalogMixin catalog) throws InterruptedException {
        Thread.sleep(over.toMillisPart());
        int seconds = Math.toIntExact(over.toSeconds());
        try (TaskProgress progress = new TaskProgress(catalog.err())) {
            for (int i = 0; i < seconds; i++) {
                TimeUnit.SECONDS.sleep(1);
                progress.accept("measuring, seconds", seconds);
            }
        }
    }

    static final class ByNames extends EnumNames<RebalanceBy> {
        ByNames() {
            super(RebalanceBy.class);
        }
    }
}
