/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Target;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;

/** Transactions of an application while {@code schema deploy} changes all shards, and in the seconds afterwards. */
public final class LiveDeploys {

    private static final int ROWS = 20;
    /** PostgreSQL keeps a plan after the seventh use. */
    private static final int USES = 8;

    /** The candidate that deploys nothing, which shows what else the machine does. */
    private static final Candidate NOTHING = new Candidate("nothing, for comparison", List.of());

    private static final Candidate FULL_SPEED = new Candidate("`--rest 0`", List.of("--rest", "0"));
    private static final Candidate DEFAULT = new Candidate("the default, `--rest 1`", List.of());
    private static final Candidate GENTLE =
            new Candidate("`--parallel 1 --rest 4`", List.of("--parallel", "1", "--rest", "4"));

    /** The candidate that finds nothing to deploy, which shows what the command itself takes from the processors that it shares. */
    private static final Candidate REPEATED = new Candidate("the same again, with nothing to do", List.of());

    private static final List<Candidate> CANDIDATES = List.of(NOTHING, REPEATED, FULL_SPEED, DEFAULT, GENTLE);

    private final BenchmarkInstallation installation;
    private final Sizes sizes;
    private final Rounds measured = new Rounds();
    private final StringBuilder changelog = new StringBuilder("databaseChangeLog:\n");
    private int deployments;

    /** A way to deploy. */
    private record Candidate(String label, List<String> options) {

        String key(When when, String what) {
            return label + when + what;
        }
    }

    private enum When {
        BEFORE,
        DURING,
        AFTER
    }

    /**
     * The amounts to measure.
     *
     * @param quiet how long to measure before each deployment and after it, in seconds
     */
    private record Sizes(
            int shards, int tables, int perSecond, int threads, int pool, int rounds, int quiet, int moves) {}

    private LiveDeploys(BenchmarkInstallation installation, Sizes sizes) {
        this.installation = installation;
        this.sizes = sizes;
    }

    /** Creates the tables, and then rows, whose ids the tables make once they are deployed. */
    private void fill() throws Exception {
        for (int table = 0; table < sizes.tables(); table++) {
            change(
                    "t" + table,
                    "CREATE TABLE t%1$d (id bigint PRIMARY KEY, uid bigint NOT NULL, title text); CREATE INDEX ON t%1$d (uid); CREATE INDEX ON t%1$d (title)"
                            .formatted(table));
        }
        System.out.printf("%,d shards created in %.0f s%n", sizes.shards(), installation.deploy(changelog.toString()));
        for (int table = 0; table < sizes.tables(); table++) {
            change(
                    "rows" + table,
                    "INSERT INTO t%d (uid, title) SELECT n, 'a title ' || n FROM generate_series(1, %d) n"
                            .formatted(table, ROWS));
        }
        installation.deploy(changelog.toString(), "--rest", "0");
        try (Connection connection = installation.connect("db1")) {
            Sql.execute(connection, "VACUUM ANALYZE");
        }
    }

    private void change(String id, String sql) {
        changelog.append("- changeSet: {id: %s, author: app, changes: [{sql: {sql: \"%s\"}}]}%n".formatted(id, sql));
    }

    /** Measures, and writes the page {@code live-deploys.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("generator-cli,src/benchmarks", "LiveDeploys", "live.");
        Sizes sizes = new Sizes(
                sizing.number("shards", 2000),
                sizing.number("tables", 4),
                sizing.number("rate", 500),
                sizing.number("threads", 16),
                sizing.number("pool", 8),
                sizing.number("rounds", 3),
                sizing.number("seconds", 10),
                sizing.number("moves", 20));
        try (PostgresCluster cluster = PostgresCluster.builder()
                        .provider(PostgresProvider.EMBEDDED)
                        .servers(2)
                        .start();
                BenchmarkInstallation installation = BenchmarkInstallation.onFirst(cluster, "live", 2, sizes.shards());
                Connection connection = cluster.server(0).connect()) {
            LiveDeploys live = new LiveDeploys(installation, sizes);
            String moves = live.measure();
            live.page(moves)
                    .section("How it was made")
                    .made(sizing, Machine.describe(connection) + ". Servers, application and command share it.")
                    .write(Report.directory(), "live-deploys");
        }
    }

    private String measure() throws Exception {
        fill();
        try (ShardRouter router = installation.router(sizes.pool())) {
            SteadyLoad.warmUp(router, sizes.shards(), sizes.tables(), USES, sizes.pool());
            for (int round = 0; round < sizes.rounds(); round++) {
                for (Candidate candidate : Rounds.order(CANDIDATES, round)) {
                    measure(router, candidate);
                }
            }
            return moves(router);
        }
    }

    private SteadyLoad load(ShardRouter router) throws InterruptedException {
        SteadyLoad load = new SteadyLoad(router, sizes.shards(), sizes.tables(), sizes.perSecond(), sizes.threads());
        TimeUnit.SECONDS.sleep(2);
        return load;
    }

    private void measure(ShardRouter router, Candidate candidate) throws Exception {
        installation.checkpoint();
        try (SteadyLoad load = load(router)) {
            long before = System.nanoTime();
            TimeUnit.SECONDS.sleep(sizes.quiet());
            long begin = System.nanoTime();
            deploy(candidate);
            long end = System.nanoTime();
            TimeUnit.SECONDS.sleep(sizes.quiet());
            SteadyLoad.Ended ended = load.end();
            measured.add(candidate.label(), (end - begin) / 1e9);
            add(candidate, When.BEFORE, ended.between(before, begin));
            add(candidate, When.DURING, ended.between(begin, end));
            add(candidate, When.AFTER, ended.between(end, System.nanoTime()));
        }
    }

    private void deploy(Candidate candidate) throws Exception {
        if (candidate.equals(NOTHING)) {
            TimeUnit.SECONDS.sleep(sizes.quiet());
            return;
        }
        if (!candidate.equals(REPEATED)) {
            String column = "c" + deployments;
            change(column, "ALTER TABLE t%d ADD COLUMN %s text".formatted(deployments++ % sizes.tables(), column));
        }
        installation.deploy(changelog.toString(), candidate.options().toArray(String[]::new));
    }

    private void add(Candidate candidate, When when, SteadyLoad.Figures figures) {
        System.out.printf("%s, %s: %s%n", candidate.label(), when, figures);
        measured.add(candidate.key(when, "rate"), figures.perSecond());
        measured.add(candidate.key(when, "p50"), figures.p50());
        measured.add(candidate.key(when, "p99"), figures.p99());
        measured.add(candidate.key(when, "worst"), figures.worst());
    }

    /** Moves shards to the other server under the load, one after the other, and says what became of it. */
    private String moves(ShardRouter router) throws Exception {
        try (SteadyLoad load = load(router)) {
            long begin = System.nanoTime();
            for (int shard = 0; shard < sizes.moves(); shard++) {
                installation.command().run("move", "run", "--shards", String.valueOf(shard), "--to", "db2");
            }
            long end = System.nanoTime();
            SteadyLoad.Ended ended = load.end();
            String found =
                    "%d shards moved to another server under the same load, one after the other: %d of %d transactions failed, p99 %s ms, the longest took %s ms."
                            .formatted(
                                    sizes.moves(),
                                    ended.failed(),
                                    ended.count(),
                                    Figures.number(ended.between(begin, end).p99()),
                                    Figures.number(ended.between(begin, end).worst()));
            System.out.println(found);
            return found;
        }
    }

    private Report page(String moves) {
        Report page = new Report("Deployments to shards in use").paragraph("""
                `schema deploy` adds a column to one table of each of %s shards with %d tables, all on one server, while an
                application has %d transactions a second through a router with %d connections, each on a random table of a random
                shard. Times count from when a transaction was due. "Before" and "afterwards" are the %d s next to each deployment.""".formatted(
                Figures.number(sizes.shards()), sizes.tables(), sizes.perSecond(), sizes.pool(), sizes.quiet()));
        List<Target> targets = new ArrayList<>();
        List<List<String>> rows = new ArrayList<>();
        for (Candidate candidate : CANDIDATES) {
            Interval during = ratio(candidate, When.DURING, "p99");
            Interval after = ratio(candidate, When.AFTER, "p99");
            if (candidate.equals(DEFAULT)) {
                targets.add(
                        Target.atMost("p99 during a deployment by default, times as long as before", 2, "", during));
                targets.add(Target.atMost("p99 afterwards", 2, "", after));
            }
            rows.add(List.of(
                    candidate.label(),
                    measured.of(candidate.label()).toString(),
                    measured.of(candidate.key(When.DURING, "rate")).toString(),
                    measured.of(candidate.key(When.BEFORE, "p99")).toString(),
                    measured.of(candidate.key(When.DURING, "p99")).toString(),
                    during.toString(),
                    ratio(candidate, When.DURING, "p50").toString(),
                    after.toString(),
                    measured.of(candidate.key(When.DURING, "worst")).toString()));
        }
        return page.section("Goals")
                .targets(targets)
                .section("Measured")
                .table(
                        List.of(
                                "Deployment",
                                "Seconds",
                                "Transactions/s",
                                "p99 before, ms",
                                "p99 during it, ms",
                                "times as long as before",
                                "p50, times as long",
                                "p99 afterwards, times as long",
                                "Longest, ms"),
                        rows)
                .paragraph("%d rounds, in which the deployments take turns; medians, with the least and the greatest."
                        .formatted(sizes.rounds()))
                .section("Moves")
                .paragraph(moves);
    }

    private Interval ratio(Candidate candidate, When when, String what) {
        return measured.ratio(candidate.key(when, what), candidate.key(When.BEFORE, what));
    }
}
