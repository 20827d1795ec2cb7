/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import com.zaxxer.hikari.HikariDataSource;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.shardingsphere.driver.api.yaml.YamlShardingSphereDataSourceFactory;
import org.jooq.DSLContext;
import org.postgresql.Driver;
import org.shardflake.benchmarks.report.BarChart;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Target;
import org.shardflake.benchmarks.router.RouterComparison.Sizes;

/** The page: collects what was measured, and then puts the goals on top. Not thread-safe. */
final class RouterReport {

    private static final double OF_BARE = 0.97;
    private static final double OF_SHARDINGSPHERE = 1.5;
    private static final double START_OF_BARE = 1.1;
    private static final String BARE = RouterCandidate.BARE.label();
    private static final String SHARDINGSPHERE = RouterCandidate.SHARDINGSPHERE.label();
    /** A candidate that is no limit for reads of many shards, since it does them as bare JDBC does. */
    private static final String BARE_JOOQ = RouterCandidate.BARE_JOOQ.label();

    private static final List<RouterCandidate> OURS =
            List.of(RouterCandidate.SHARDFLAKE_JDBC, RouterCandidate.SHARDFLAKE_JOOQ);

    private final Sizing sizing;
    private final Sizes sizes;
    private final Layout layout;
    private final Report page = new Report("The router beside its peers");
    private final List<Target> targets = new ArrayList<>();
    private final List<List<String>> rates = new ArrayList<>();
    private final Map<String, BarChart> rateCharts = new LinkedHashMap<>();
    private final List<List<String>> starts = new ArrayList<>();
    private final BarChart startChart;
    private final BarChart heapChart;
    private String machine = "";

    RouterReport(Sizing sizing, Sizes sizes, Layout layout) {
        this.sizing = sizing;
        this.sizes = sizes;
        this.layout = layout;
        startChart =
                new BarChart("From start to the first row, %d shards".formatted(sizes.shards()), "ms, less is better");
        heapChart =
                new BarChart("Heap after a row of each of %d shards".formatted(sizes.shards()), "MiB, less is better");
    }

    void machine(String description) {
        machine = description;
    }

    void starts(Starts measured) {
        for (RouterCandidate candidate : RouterCandidate.values()) {
            Interval millis = measured.millis.of(candidate.label());
            starts.add(List.of(
                    candidate.label(),
                    millis.toString(),
                    measured.millis.ratio(SHARDINGSPHERE, candidate.label()).toString(),
                    measured.heap.of(candidate.label()).toString(),
                    measured.heapOfAllShards.of(candidate.label()).toString()));
            startChart.bar(candidate.label(), millis, candidate.isOurs());
            heapChart.bar(candidate.label(), measured.heapOfAllShards.of(candidate.label()), candidate.isOurs());
        }
        for (RouterCandidate ours : OURS) {
            String bare = ours == RouterCandidate.SHARDFLAKE_JOOQ ? BARE_JOOQ : BARE;
            targets.add(Target.atMost(
                    "start to the first row, %s beside %s".formatted(ours.label(), bare),
                    START_OF_BARE,
                    "",
                    measured.millis.ratio(ours.label(), bare)));
        }
    }

    void throughput(Operation operation, int threads, Rounds measured) {
        String what = "%s, %d thread%s".formatted(operation.label(), threads, threads == 1 ? "" : "s");
        BarChart chart = new BarChart(what, "operations per second, more is better");
        for (RouterCandidate candidate : RouterCandidate.values()) {
            Interval rate = measured.of(candidate.label());
            Interval ofBare = measured.ratio(candidate.label(), BARE);
            rates.add(List.of(
                    what,
                    candidate.label(),
                    Figures.number(rate.min()),
                    Figures.number(rate.median()),
                    Figures.number(rate.max()),
                    ofBare.toString()));
            chart.bar(candidate.label(), rate, candidate.isOurs());
        }
        for (RouterCandidate ours : OURS) {
            boolean isJooq = ours == RouterCandidate.SHARDFLAKE_JOOQ && operation.isOfOneShard();
            String limit = isJooq ? BARE_JOOQ : BARE;
            targets.add(Target.atLeast(
                    named(ours, what, "beside " + limit), OF_BARE, "", measured.ratio(ours.label(), limit)));
            targets.add(Target.atLeast(
                    named(ours, what, "beside ShardingSphere-JDBC"),
                    OF_SHARDINGSPHERE,
                    "",
                    measured.ratio(ours.label(), SHARDINGSPHERE)));
        }
        if (threads == sizes.mostThreads()) {
            rateCharts.put("router-%s.svg".formatted(operation.fileName()), chart);
        }
    }

    private static String named(RouterCandidate ours, String what, String beside) {
        return "%s, %s, %s".formatted(ours.label().replace("Shardflake", "router"), what, beside);
    }

    Report finish() {
        page.paragraph("""
                Five ways to the right shard, on the same rows and in the same run. Each figure is a ratio of operations per
                second, or of times to start, of rounds in which both had their turn: the median, and in parentheses the least
                and the greatest.""");
        page.section("Goals").targets(targets);
        page.section("Operations");
        page.paragraph("""
                Operations per second in %d rounds of %s s, after %d that are not counted; the order rotates. After
                each round the whole result of an operation is compared with what it must be, and an inserted row is looked
                for on its server.""".formatted(sizes.rounds(), Figures.number(sizes.millis() / 1e3), sizes.warmUps()));
        page.table(List.of("Operation", "Candidate", "min", "median", "max", "of bare JDBC"), rates);
        rateCharts.forEach(page::chart);
        page.section("Start and heap");
        page.paragraph("""
                Each candidate in a process of its own (`java %s`), with what it needs on the class path, %d times, in turns:
                from before its pools, data source or router are made to the first row that it has read by id, so without the
                start of Java itself; then the heap in use after a full collection, and once more
                after a row of each of the %d shards. The goal was once a start 20 times as fast as ShardingSphere's, which bare
                JDBC does not reach either; now it is bare JDBC's own.""".formatted(Starts.FLAG, sizes.starts(), sizes.shards()));
        page.table(
                List.of(
                        "Candidate",
                        "ms to the first row",
                        "faster than ShardingSphere",
                        "MiB of heap then",
                        "MiB, all shards used"),
                starts);
        page.chart("router-start.svg", startChart).chart("router-heap.svg", heapChart);
        page.paragraph("ShardingSphere's option `check-table-metadata-enabled` is off, as it is by default.");
        conditions();
        return page;
    }

    private void conditions() {
        page.section("What was compared");
        page.list(List.of(
                "The data: %d shards in turn on %d servers, %d rows each, `photo (id bigint PRIMARY KEY, uid bigint, title text)`; rows of the candidates without ShardingSphere are in a schema per shard."
                        .formatted(sizes.shards(), layout.servers().size(), sizes.rows()),
                "Everybody: HikariCP with %d connections to each server, 5 s to get one, %s prepared statements kept per connection and prepared on the server at their second use, the driver's defaults otherwise; prepared statements; every operation takes a connection from the pool and gives it back."
                        .formatted(sizes.poolSize(), Figures.number(Layout.CACHED_STATEMENTS)),
                "In a transaction: `BEGIN`, the statement, `COMMIT`; the point select's is read-only. For Shardflake `read` and `write` with a lambda, for JDBC and ShardingSphere `setAutoCommit(false)` and `commit`. Otherwise auto-commit: `router.connection(key)` and `jooq.dsl(key)`.",
                "Bare JDBC, the limit: the shard is read out of the id or computed from the uid, the server is its remainder, the statement is made from the schema's name. Many rows by id: one `UNION ALL` per server with an arm per shard, the servers at once. The newest: a `UNION ALL` for every 100 shards, always with the same text, which asks only for rows newer than those known, the servers at once.",
                "Shardflake: a `ShardRouter` that follows the catalog on the first server, with JDBC or with jOOQ inside.",
                "Bare jOOQ, the limit of the router with jOOQ in one shard: jOOQ on a connection of the right server's pool, with a mapping of the schema that is made once per shard. It asks many shards by JDBC.",
                "ShardingSphere: the configuration below, and a database of its own on each server, since it reads all schemas of a database when it starts. The tables are `photo_0` to `photo_%d`, in turn on the servers, with the same rows. Its own way to say that a uid and an id lead to the same table is an algorithm of type `CLASS_BASED`, so that it needs no more than the id either. New ids come from the database there too, by the function that Instagram published. The newest rows are `SELECT ... ORDER BY id DESC LIMIT %d` from the logical table. `max-connections-size-per-query` is 1, as by default."
                        .formatted(sizes.shards() - 1, RouterCandidate.NEWEST)));
        page.code(ShardingSphere.yaml(layout));
        page.section("How it was made");
        page.made(sizing, "%s; %s.".formatted(machine, versions()));
    }

    /** The versions in the names of the jars, which cannot be wrong. */
    private static String versions() {
        return Stream.of(
                        YamlShardingSphereDataSourceFactory.class,
                        DSLContext.class,
                        HikariDataSource.class,
                        Driver.class)
                .map(type -> Path.of(type.getProtectionDomain()
                                .getCodeSource()
                                .getLocation()
                                .getPath())
                        .getFileName()
                        .toString()
                        .replace(".jar", ""))
                .reduce((some, more) -> some + ", " + more)
                .orElse("");
    }
}
