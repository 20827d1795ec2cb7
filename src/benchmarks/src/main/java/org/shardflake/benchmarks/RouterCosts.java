/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import java.util.Map;
import java.util.Objects;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** What routing costs without a server: nanoseconds and bytes of garbage per operation, beside the goals. */
public final class RouterCosts {

    private static final Map<String, Double> GOAL_NANOS = Map.of("decode", 2.0, "uidToPool", 15.0);
    /** What JMH itself allocates shows up as a tiny fraction of a byte. */
    private static final double NO_BYTES = 0.01;

    private RouterCosts() {}

    public static void main(String[] args) throws RunnerException {
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
        System.out.printf("%-12s %8s %8s %8s %8s  %s%n", "", "ns/op", "+/-", "B/op", "goal", "holds");
        for (RunResult result : new Runner(options).run()) {
            String name = result.getPrimaryResult().getLabel();
            double nanos = result.getPrimaryResult().getScore();
            double bytes = Objects.requireNonNull(result.getSecondaryResults().get("gc.alloc.rate.norm"))
                    .getScore();
            double goal = GOAL_NANOS.getOrDefault(name, Double.POSITIVE_INFINITY);
            System.out.printf(
                    "%-12s %8.2f %8.2f %8.3f %8s  %s%n",
                    name,
                    nanos,
                    result.getPrimaryResult().getScoreError(),
                    bytes,
                    Double.isInfinite(goal) ? "-" : goal,
                    nanos <= goal && bytes < NO_BYTES ? "yes" : "NO");
        }
    }
}
