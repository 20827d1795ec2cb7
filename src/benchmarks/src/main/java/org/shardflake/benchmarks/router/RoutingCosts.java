/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.router.ShardRouter;

/** The steps of routing that need no server: nanoseconds and bytes of garbage, beside the goals. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class RoutingCosts {

    private static final Map<String, Double> GOAL_NANOS = Map.of("decode", 2.0, "uidToServer", 15.0);
    /** What JMH itself allocates shows up as a tiny fraction of a byte. */
    private static final double NO_BYTES = 0.01;

    private static final IdLayout LAYOUT = IdLayout.DEFAULT;

    // Nothing listens there: pools connect when a connection is asked for, and none is.
    private final ShardMap map = ShardMap.initial(
            new Sharding(Sharding.DEFAULT_SHARD_COUNT),
            LAYOUT,
            List.of(
                    new Server("db1", "postgresql://app@127.0.0.1:1/app"),
                    new Server("db2", "postgresql://app@127.0.0.1:2/app")),
            Spread.CONTIGUOUS);
    private final ShardRouter router = ShardRouter.builder().map(map).build();
    private long uid;
    private long id = LAYOUT.encode(LAYOUT.epochMillis() + 1_000_000_000L, 1234, 567);

    /** What a step costs each time, with the error of the mean. */
    record Cost(String step, double nanos, double error, double bytes) {}

    @TearDown
    public void close() {
        router.close();
    }

    @Benchmark
    public long decode() {
        long next = id++;
        return LAYOUT.timeMillis(next) ^ IdLayout.shard(next) ^ IdLayout.sequence(next);
    }

    @Benchmark
    public int uidToShard() {
        return map.shardOfUid(uid++);
    }

    @Benchmark
    public Server idToServer() {
        // Without the shard's three highest bits, so that however far this counts it stays below 1024.
        return map.server(map.shardOfId(id++ & ~(7L << 20)));
    }

    /** As the router has the map, which may change meanwhile. */
    @Benchmark
    public Server uidToServer() {
        ShardMap now = router.map();
        return now.server(now.shardOfUid(uid++));
    }

    /** Measures all steps and prints them. */
    public static void print() throws RunnerException {
        System.out.printf("%-12s %8s %8s %8s %8s  %s%n", "", "ns/op", "+/-", "B/op", "goal", "holds");
        for (Cost cost : measure()) {
            double goal = GOAL_NANOS.getOrDefault(cost.step(), Double.POSITIVE_INFINITY);
            System.out.printf(
                    "%-12s %8.2f %8.2f %8.3f %8s  %s%n",
                    cost.step(),
                    cost.nanos(),
                    cost.error(),
                    cost.bytes(),
                    Double.isInfinite(goal) ? "-" : goal,
                    cost.nanos() <= goal && cost.bytes() < NO_BYTES ? "yes" : "NO");
        }
    }

    static List<Cost> measure() throws RunnerException {
        // In Maven's JVM, whose class path a fork would not have.
        var options = new OptionsBuilder()
                .include(RoutingCosts.class.getName())
                .forks(0)
                .warmupIterations(2)
                .warmupTime(TimeValue.seconds(1))
                .measurementIterations(5)
                .measurementTime(TimeValue.seconds(1))
                .addProfiler(GCProfiler.class)
                .shouldFailOnError(true)
                .verbosity(VerboseMode.SILENT)
                .build();
        List<Cost> costs = new ArrayList<>();
        for (RunResult result : new Runner(options).run()) {
            costs.add(new Cost(
                    result.getPrimaryResult().getLabel(),
                    result.getPrimaryResult().getScore(),
                    result.getPrimaryResult().getScoreError(),
                    Objects.requireNonNull(result.getSecondaryResults().get("gc.alloc.rate.norm"))
                            .getScore()));
        }
        return costs;
    }
}
