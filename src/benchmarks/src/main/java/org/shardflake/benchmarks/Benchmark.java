/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import java.util.Map;
import java.util.TreeMap;
import org.shardflake.benchmarks.deploys.DeployComparison;
import org.shardflake.benchmarks.ids.CheckCost;
import org.shardflake.benchmarks.ids.IdComparison;
import org.shardflake.benchmarks.ids.IdCost;
import org.shardflake.benchmarks.moves.DrainComparison;
import org.shardflake.benchmarks.moves.MoveComparison;
import org.shardflake.benchmarks.moves.RolePauses;
import org.shardflake.benchmarks.router.AllShards;
import org.shardflake.benchmarks.router.Poolers;
import org.shardflake.benchmarks.router.RouterComparison;
import org.shardflake.benchmarks.router.RoutingCosts;
import org.shardflake.benchmarks.router.UnqualifiedSql;
import org.shardflake.benchmarks.summary.ReadmeSummary;

/** Runs the benchmark that {@code -Dbenchmark} names. */
public final class Benchmark {

    /** A benchmark, from starting what it needs to writing what it found. */
    @FunctionalInterface
    interface Program {
        void run() throws Exception;
    }

    static final Map<String, Program> ALL = new TreeMap<>(Map.ofEntries(
            entry("AllShards", AllShards::print),
            entry("CheckCost", CheckCost::print),
            entry("Deploys", DeployComparison::run),
            entry("Drains", DrainComparison::run),
            entry("IdCost", IdCost::print),
            entry("IdSchemes", IdComparison::run),
            entry("MoveRoles", RolePauses::print),
            entry("Moves", MoveComparison::run),
            entry("Poolers", Poolers::print),
            entry("Readme", ReadmeSummary::write),
            entry("RouterCosts", RoutingCosts::print),
            entry("RouterPeers", RouterComparison::run),
            entry("UnqualifiedSql", UnqualifiedSql::print)));

    private Benchmark() {}

    private static Map.Entry<String, Program> entry(String name, Program program) {
        return Map.entry(name, program);
    }

    public static void main(String[] arguments) throws Exception {
        String name = arguments.length == 1 ? arguments[0] : "";
        Program program = ALL.get(name);
        if (program == null) {
            throw new IllegalArgumentException("no benchmark %s, there are %s".formatted(name, ALL.keySet()));
        }
        program.run();
    }
}
