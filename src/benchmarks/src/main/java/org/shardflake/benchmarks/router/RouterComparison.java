/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.Connection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sessions;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.router.RouterComparison.Sizes;
import org.shardflake.cluster.PostgresCluster;

/** Measures all candidates in one run and writes the report. */
public final class RouterComparison {

    private static final int SERVERS = 2;

    private final PhotoServers servers;
    private final Sizes sizes;
    private final RouterReport report;
    private final Map<RouterCandidate, Peer> peers = new EnumMap<>(RouterCandidate.class);

    private RouterComparison(PhotoServers servers, Sizes sizes, RouterReport report) {
        this.servers = servers;
        this.sizes = sizes;
        this.report = report;
    }

    /** Measures, and writes the page {@code router.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("src/benchmarks", "RouterPeers", "router.");
        Sizes sizes = Sizes.of(sizing);
        try (PostgresCluster cluster = BenchmarkInstallation.startServers(SERVERS)) {
            System.out.println("making %d shards".formatted(sizes.shards()));
            PhotoServers servers = PhotoServers.prepare(cluster, sizes.shards(), sizes.rows(), sizes.poolSize());
            RouterReport report = new RouterReport(sizing, sizes, servers.layout());
            try (Connection connection = servers.connect()) {
                report.machine(Machine.describe(connection));
            }
            RouterComparison comparison = new RouterComparison(servers, sizes, report);
            comparison.start();
            comparison.throughput();
            report.finish().write(Report.directory(), "router");
        }
    }

    private void start() throws Exception {
        System.out.println("starting each candidate %d times".formatted(sizes.starts()));
        Starts starts = new Starts(servers);
        starts.measure(sizes.starts());
        report.starts(starts);
    }

    /** Operations a second of all candidates, in interleaved rounds, with their results checked after each. */
    private void throughput() throws Exception {
        try {
            for (RouterCandidate candidate : RouterCandidate.values()) {
                peers.put(candidate, candidate.open(servers.layout()));
            }
            warmUp(sizes.mostThreads());
            for (Operation operation : Operation.values()) {
                for (int threads : sizes.threads()) {
                    System.out.println("%s, %d threads".formatted(operation.label(), threads));
                    Rounds rates = measure(operation, threads);
                    rates.candidates()
                            .forEach(candidate ->
                                    System.out.println("    %-34s %s".formatted(candidate, rates.of(candidate))));
                    report.throughput(operation, threads, rates);
                }
            }
        } finally {
            peers.values().forEach(Peer::close);
        }
    }

    /** Operations a second by {@link RouterCandidate#label()}. */
    private Rounds measure(Operation operation, int threads) throws Exception {
        Map<String, Rounds.Measurement<Exception>> candidates = new LinkedHashMap<>();
        peers.forEach((candidate, peer) -> candidates.put(candidate.label(), () -> {
            double rate = rate(operation, peer, threads);
            operation.check(candidate, peer, servers);
            return rate;
        }));
        return Rounds.run(sizes.warmUps(), sizes.rounds(), candidates);
    }

    /** Lets every candidate read for a while, so that none is measured while the code that they share is still compiled. */
    private void warmUp(int threads) throws Exception {
        for (Operation operation : Operation.values()) {
            if (!operation.inserts()) {
                for (Peer peer : peers.values()) {
                    rate(operation, peer, threads);
                }
            }
        }
    }

    private double rate(Operation operation, Peer peer, int threads) throws Exception {
        return Sessions.perSecond(threads, sizes.millis(), () -> operation.run(peer, servers));
    }

    /** The amounts to measure, from system properties {@code router.*}. */
    record Sizes(
            int shards,
            int rows,
            int poolSize,
            int warmUps,
            int rounds,
            int millis,
            int starts,
            List<Integer> threads) {

        static Sizes of(Sizing sizing) {
            return new Sizes(
                    sizing.number("shards", 2000),
                    sizing.number("rows", 100),
                    sizing.number("pool", 16),
                    sizing.number("warmups", 4),
                    sizing.number("rounds", 41),
                    sizing.number("millis", 300),
                    sizing.number("starts", 15),
                    sizing.numbers("threads", List.of(1, 16)));
        }

        int mostThreads() {
            return Collections.max(threads);
        }
    }
}
