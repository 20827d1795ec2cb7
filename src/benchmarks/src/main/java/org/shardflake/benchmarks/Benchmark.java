/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import java.util.Map;
import java.util.TreeMap;
import org.shardflake.benchmarks.deploys.DeployComparison;
import org.shardflake.benchmarks.ids.IdComparison;
import org.shardflake.benchmarks.moves.DrainComparison;
import org.shardflake.benchmarks.moves.MoveComparison;
import org.shardflake.benchmarks.router.Poolers;
import org.shardflake.benchmarks.router.RouterComparison;
import org.shardflake.benchmarks.summary.ReadmeSummary;

/** Runs the benchmark that {@code -Dbenchmark} names. */
public final class Benchmark {

    /** A benchmark, from starting what it needs to writing what it found. */
    @FunctionalInterface
    interface Program {
        void run() throws Exception;
    }

    static final Map<String, Program> ALL = new TreeMap<>(Map.<String, Program>of(
            "Deploys", DeployComparison::run,
            "Drains", DrainComparison::run,
            "IdSchemes", IdComparison::run,
            "Moves", MoveComparison::run,
            "Poolers", Poolers::print,
            "Readme", ReadmeSummary::write,
            "RouterPeers", RouterComparison::run));

    private Benchmark() {}

    public static void main(String[] arguments) throws Exception {
        String name = arguments.length == 1 ? arguments[0] : "";
        Program program = ALL.get(name);
        if (program == null) {
            throw new IllegalArgumentException("no benchmark %s, there are %s".formatted(name, ALL.keySet()));
        }
        program.run();
    }
}
