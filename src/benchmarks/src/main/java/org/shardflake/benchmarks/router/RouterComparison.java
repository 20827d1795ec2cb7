/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.Connection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;

/** Measures all candidates in one run and writes the report. */
public final class RouterComparison {

    private static final int SERVERS = 2;

    private RouterComparison() {}

    /** Measures, and writes the page {@code router.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("src/benchmarks", "RouterPeers", "router.");
        Sizes sizes = Sizes.of(sizing);
        List<RoutingCosts.Cost> costs = RoutingCosts.measure();
        try (PostgresCluster cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(SERVERS)
                .durable(true)
                .start()) {
            say("making %d shards".formatted(sizes.shards()));
            PhotoServers servers = PhotoServers.prepare(cluster, sizes.shards(), sizes.rows(), sizes.poolSize());
            RouterReport report = new RouterReport(sizing, sizes, servers.layout());
            try (Connection connection = servers.connect()) {
                report.machine(Machine.describe(connection));
            }
            report.inMemory(costs);
            start(servers, sizes, report);
            throughput(servers, sizes, report);
            report.finish().write(Report.directory(), "router");
        }
    }

    private static void start(PhotoServers servers, Sizes sizes, RouterReport report) throws Exception {
        say("starting each candidate %d times".formatted(sizes.starts()));
        Starts starts = new Starts(servers);
        starts.measure(sizes.starts());
        report.starts(starts, starts.checking());
    }

    private static void throughput(PhotoServers servers, Sizes sizes, RouterReport report) throws Exception {
        Map<Candidate, Peer> peers = new EnumMap<>(Candidate.class);
        try {
            for (Candidate candidate : Candidate.values()) {
                peers.put(candidate, candidate.open(servers.layout()));
            }
            Throughput throughput = new Throughput(servers, peers, sizes);
            throughput.warmUp(sizes.mostThreads());
            for (Operation operation : Operation.values()) {
                for (int threads : sizes.threads()) {
                    say("%s, %d threads".formatted(operation.label(), threads));
                    Rounds rates = throughput.measure(operation, threads);
                    rates.candidates()
                            .forEach(candidate -> say("    %-34s %s".formatted(candidate, rates.of(candidate))));
                    report.throughput(operation, threads, rates);
                }
            }
            for (Operation operation : List.of(Operation.SELECT, Operation.INSERT)) {
                report.allocation(operation, throughput.allocation(operation));
            }
        } finally {
            peers.values().forEach(Peer::close);
        }
    }

    private static void say(String what) {
        System.out.println(what);
    }
}
