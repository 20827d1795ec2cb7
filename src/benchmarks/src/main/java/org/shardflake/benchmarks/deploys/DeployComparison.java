/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import org.shardflake.benchmarks.installation.CommandStart;
import org.shardflake.benchmarks.installation.Installation;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Spread;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresServer;

/**
 * All that is measured about deployments, from starting servers to writing the page.
 *
 * <p>Databases are dropped when all is measured: for some minutes after thousands of files were deleted, ext4 takes several times as
 * long to create one.
 */
public final class DeployComparison implements AutoCloseable {

    private final PostgresCluster cluster;
    private final Sizes sizes;
    private final Results results = new Results();
    private final List<AutoCloseable> databases = new ArrayList<>();

    private DeployComparison(PostgresCluster cluster, Sizes sizes) {
        this.cluster = cluster;
        this.sizes = sizes;
    }

    /** Measures, prints the goals and writes {@code deploys.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("generator-cli,src/benchmarks", "Deploys", "deploys.");
        Sizes sizes = Sizes.of(sizing);
        try (PostgresCluster cluster = Installation.startServers(sizes.servers());
                Connection connection = cluster.server(0).connect()) {
            Spread start = CommandStart.seconds(sizes.rounds());
            Results results;
            try (DeployComparison comparison = new DeployComparison(cluster, sizes)) {
                results = comparison.measure();
            }
            results.targets(sizes.shards()).forEach(System.out::println);
            new DeployPage(results, sizes, start)
                    .write(Machine.describe(connection), sizing)
                    .write(Report.directory(), "deploys");
        }
    }

    private Results measure() throws Exception {
        warmUp();
        for (int round = 0; round < sizes.rounds(); round++) {
            measure(round);
        }
        return results;
    }

    /** The loop is all in this JVM, which is not to be slow at first for that. */
    private void warmUp() throws Exception {
        LiquibaseLoop loop = loop(cluster.servers(), sizes.sample());
        for (Step step : Step.values()) {
            loop.deploy(step.changelog());
        }
    }

    private LiquibaseLoop loop(List<PostgresServer> servers, int schemas) throws Exception {
        LiquibaseLoop loop = new LiquibaseLoop(servers, schemas, "looped_" + databases.size());
        databases.add(loop);
        return loop;
    }

    private void measure(int round) throws Exception {
        System.out.printf("%s, round %d%n", sizes, round + 1);
        Installation installation =
                Installation.spread(cluster, "deployed_" + databases.size(), sizes.servers(), sizes.shards());
        databases.add(installation);
        LiquibaseLoop loop = loop(installation.servers(), sizes.sample());
        for (Step step : Step.values()) {
            double[] seconds = new double[2];
            for (int turn : Rounds.order(List.of(0, 1), round)) {
                installation.checkpoint();
                seconds[turn] = turn == 0 ? installation.deploy(step.changelog()) : loop.deploy(step.changelog());
            }
            double whole = seconds[1] * sizes.shards() / sizes.sample();
            results.add(step, seconds[0], whole);
            System.out.printf(
                    "    %-26s %s s, loop %s s%n", step.label(), Figures.number(seconds[0]), Figures.number(whole));
        }
    }

    @Override
    public void close() throws Exception {
        for (AutoCloseable database : databases) {
            database.close();
        }
    }
}
