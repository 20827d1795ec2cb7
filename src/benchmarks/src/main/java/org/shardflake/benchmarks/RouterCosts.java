/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;
import org.shardflake.benchmarks.router.InMemoryCost;

/** What routing costs without a server: nanoseconds and bytes of garbage per operation, beside the goals. */
public final class RouterCosts {

    private static final Map<String, Double> GOAL_NANOS = Map.of("decode", 2.0, "uidToPool", 15.0);
    /** What JMH itself allocates shows up as a tiny fraction of a byte. */
    private static final double NO_BYTES = 0.01;

    private RouterCosts() {}

    public static void main(String[] args) throws RunnerException {
        System.out.printf("%-12s %8s %8s %8s %8s  %s%n", "", "ns/op", "+/-", "B/op", "goal", "holds");
        for (InMemoryCost cost : measure()) {
            double goal = GOAL_NANOS.getOrDefault(cost.name(), Double.POSITIVE_INFINITY);
            System.out.printf(
                    "%-12s %8.2f %8.2f %8.3f %8s  %s%n",
                    cost.name(),
                    cost.nanos(),
                    cost.error(),
                    cost.bytes(),
                    Double.isInfinite(goal) ? "-" : goal,
                    cost.nanos() <= goal && cost.bytes() < NO_BYTES ? "yes" : "NO");
        }
    }

    static List<InMemoryCost> measure() throws RunnerException {
        // In Maven's JVM, whose class path a fork would not have.
        var options = new OptionsBuilder()
                .include("org.shardflake.router.RoutingCosts")
                .forks(0)
                .warmupIterations(2)
                .warmupTime(TimeValue.seconds(1))
                .measurementIterations(5)
                .measurementTime(TimeValue.seconds(1))
                .addProfiler(GCProfiler.class)
                .shouldFailOnError(true)
                .verbosity(VerboseMode.SILENT)
                .build();
        List<InMemoryCost> costs = new ArrayList<>();
        for (RunResult result : new Runner(options).run()) {
            costs.add(new InMemoryCost(
                    result.getPrimaryResult().getLabel(),
                    result.getPrimaryResult().getScore(),
                    result.getPrimaryResult().getScoreError(),
                    Objects.requireNonNull(result.getSecondaryResults().get("gc.alloc.rate.norm"))
                            .getScore()));
        }
        return costs;
    }
}
