/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import liquibase.resource.DirectoryResourceAccessor;
import org.shardflake.benchmarks.deploys.DeployComparison.Results.Step;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.installation.BenchmarkInstallation.Databases;
import org.shardflake.benchmarks.installation.Photos;
import org.shardflake.benchmarks.installation.ShardflakeCommand;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Target;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;
import org.shardflake.sql.LiquibaseRun;

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
        try (PostgresCluster cluster = BenchmarkInstallation.startServers(sizes.servers());
                Connection connection = cluster.server(0).connect()) {
            Interval start = ShardflakeCommand.startSeconds(sizes.rounds());
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
        BenchmarkInstallation installation =
                BenchmarkInstallation.spread(cluster, "deployed_" + databases.size(), sizes.servers(), sizes.shards());
        databases.add(installation);
        LiquibaseLoop loop = loop(installation.servers(), sizes.sample());
        for (Step step : Step.values()) {
            double[] seconds = new double[2];
            for (int turn : Rounds.order(List.of(0, 1), round)) {
                installation.checkpoint();
                seconds[turn] = turn == 0 ? installation.deployPhotos(step.changelog()) : loop.deploy(step.changelog());
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

    /**
     * The amounts to measure, from system properties {@code deploys.*}.
     *
     * @param shards in equal parts on all servers
     * @param sample how many schemas the loop is measured on
     */
    record Sizes(int shards, int servers, int rounds, int sample) {

        static Sizes of(Sizing sizing) {
            int shards = sizing.number("shards", 2000);
            return new Sizes(
                    shards,
                    sizing.number("servers", 2),
                    sizing.number("rounds", 5),
                    Math.min(shards, sizing.number("sample", 100)));
        }

        @Override
        public String toString() {
            return "%,d shards on %d server%s".formatted(shards, servers, servers == 1 ? "" : "s");
        }
    }

    /**
     * One update by Liquibase after the other, each for one schema with a connection and a history of its own, in databases of its own,
     * which closing drops.
     */
    static final class LiquibaseLoop implements AutoCloseable {

        private final List<PostgresServer> servers;
        private final int schemas;
        private final String database;
        private final Databases databases;

        /** Creates the databases. */
        LiquibaseLoop(List<PostgresServer> servers, int schemas, String database) throws SQLException, IOException {
            this.servers = servers;
            this.schemas = schemas;
            this.database = database;
            this.databases = new Databases(servers, database);
        }

        /** Updates every schema and returns how many seconds that took. */
        double deploy(String changelog) throws Exception {
            databases.writeChangelog(changelog);
            long start = System.nanoTime();
            for (int i = 0; i < schemas; i++) {
                update(servers.get(i % servers.size()), "loop_%04d".formatted(i));
            }
            return (System.nanoTime() - start) / 1e9;
        }

        private void update(PostgresServer server, String schema) throws Exception {
            try (Connection connection = server.connect(database);
                    DirectoryResourceAccessor resources = new DirectoryResourceAccessor(databases.directory())) {
                Sql.execute(connection, "CREATE SCHEMA IF NOT EXISTS %1$s; SET search_path = %1$s".formatted(schema));
                LiquibaseRun.update(connection, resources, Databases.CHANGELOG, schema, Map.of());
            }
        }

        @Override
        public void close() throws SQLException, IOException {
            databases.close();
        }
    }

    /** The times that the deployments took. Not thread-safe. */
    static final class Results {

        /** The goal relative to the loop. */
        private static final double TIMES_AS_FAST = 8;

        private final Rounds seconds = new Rounds();

        /** Keeps what one round took: the deployment, and the loop over as many schemas. */
        void add(Step step, double deploy, double loop) {
            seconds.add(step.label(), deploy);
            seconds.add(looped(step), loop);
        }

        private static String looped(Step step) {
            return step.label() + ", loop";
        }

        /** Seconds of {@code schema deploy}. */
        Interval deploy(Step step) {
            return seconds.of(step.label());
        }

        /** Seconds of the loop, reckoned from its sample. */
        Interval loop(Step step) {
            return seconds.of(looped(step));
        }

        /** The factor by which a deployment is faster. */
        Interval times(Step step) {
            return seconds.ratio(looped(step), step.label());
        }

        /** The goals and whether they are met. */
        List<Target> targets(int shards) {
            List<Target> targets = new ArrayList<>();
            for (Step step : Step.values()) {
                String what = "%s, %,d shards".formatted(step.label(), shards);
                targets.add(Target.atMost(what, step.goalSeconds(), "s", deploy(step)));
                targets.add(Target.atLeast(
                        what + ", times as fast as a loop of Liquibase", TIMES_AS_FAST, "", times(step)));
            }
            return targets;
        }

        /** The deployments, in this order. */
        enum Step {
            FIRST("first deployment", Photos.CHANGELOG, 20),
            RERUN("rerun with nothing to do", Photos.CHANGELOG, 3),
            ALTER("one `ALTER TABLE`", Photos.ALTERED, 10);

            private final String label;
            private final String changelog;
            private final double goalSeconds;

            Step(String label, String changelog, double goalSeconds) {
                this.label = label;
                this.changelog = changelog;
                this.goalSeconds = goalSeconds;
            }

            /** The label in Markdown. */
            String label() {
                return label;
            }

            String changelog() {
                return changelog;
            }

            /** The goal for 2,000 shards on 2 servers. */
            double goalSeconds() {
                return goalSeconds;
            }
        }
    }
}
