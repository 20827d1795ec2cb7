/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.shardflake.benchmarks.adoptions.SlicePauses;
import org.shardflake.benchmarks.adoptions.WholeDatabase;
import org.shardflake.benchmarks.adoptions.WriterCost;
import org.shardflake.benchmarks.deploys.DeployComparison;
import org.shardflake.benchmarks.deploys.LiveDeploys;
import org.shardflake.benchmarks.growth.Growth;
import org.shardflake.benchmarks.growth.ManyShards;
import org.shardflake.benchmarks.ids.IdComparison;
import org.shardflake.benchmarks.moves.DrainComparison;
import org.shardflake.benchmarks.moves.MoveComparison;
import org.shardflake.benchmarks.moves.StreamPauses;
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

    static final Map<String, Program> ALL = new TreeMap<>(Map.<String, Program>ofEntries(
            Map.entry("Adoptions", SlicePauses::print),
            Map.entry("Deploys", DeployComparison::run),
            Map.entry("Drains", DrainComparison::run),
            Map.entry("Growth", Growth::run),
            Map.entry("LiveDeploys", LiveDeploys::run),
            Map.entry("IdSchemes", IdComparison::run),
            Map.entry("ManyShards", ManyShards::run),
            Map.entry("Moves", MoveComparison::run),
            Map.entry("Poolers", Poolers::print),
            Map.entry("Readme", ReadmeSummary::write),
            Map.entry("RouterPeers", RouterComparison::run),
            Map.entry("Streams", StreamPauses::print),
            Map.entry("WholeDatabase", WholeDatabase::run),
            Map.entry("WriterCost", WriterCost::print)));

    private Benchmark() {}

    public static void main(String[] arguments) throws Exception {
        String name = arguments.length == 1 ? arguments[0] : "";
        Program program = ALL.get(name);
        if (program == null) {
            throw new IllegalArgumentException("no benchmark %s, there are %s".formatted(name, ALL.keySet()));
        }
        if (Benchmark.class.getClassLoader() instanceof URLClassLoader ofMaven) {
            runAlone(name, ofMaven);
        } else {
            program.run();
        }
    }

    /** Maven's Java has neither the compiler nor the garbage collector of an application; see {@code .mvn/jvm.config}. */
    private static void runAlone(String name, URLClassLoader classes) throws IOException, InterruptedException {
        List<String> command =
                new ArrayList<>(List.of(ProcessHandle.current().info().command().orElseThrow()));
        System.getProperties().stringPropertyNames().stream()
                .filter(
                        key -> key.matches(
                                "(adoptions|cost|deploys|drains|growth|ids|live|many|moves|poolers|router|postgres|report|shardflake|streams|whole)\\..+"))
                .forEach(key -> command.add("-D%s=%s".formatted(key, System.getProperty(key))));
        String classPath =
                Arrays.stream(classes.getURLs()).map(URL::getPath).collect(Collectors.joining(File.pathSeparator));
        command.addAll(List.of("-cp", classPath, Benchmark.class.getName(), name));
        if (new ProcessBuilder(command).inheritIO().start().waitFor() != 0) {
            throw new IllegalStateException(name + " has failed, as it says above");
        }
    }
}
