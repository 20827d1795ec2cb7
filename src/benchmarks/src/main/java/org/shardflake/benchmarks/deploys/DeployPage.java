/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import java.util.ArrayList;
import java.util.List;
import org.shardflake.benchmarks.deploys.DeployComparison.Results;
import org.shardflake.benchmarks.deploys.DeployComparison.Results.Step;
import org.shardflake.benchmarks.deploys.DeployComparison.Sizes;
import org.shardflake.benchmarks.report.BarChart;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Sizing;

/** The page about deployments. */
final class DeployPage {

    private final Results results;
    private final Sizes sizes;
    private final Interval start;
    private final Report page = new Report("Deploys: beside Liquibase once per schema");

    /**
     * A page without content.
     *
     * @param start of the command alone, in seconds
     */
    DeployPage(Results results, Sizes sizes, Interval start) {
        this.results = results;
        this.sizes = sizes;
        this.start = start;
    }

    Report write(String machine, Sizing sizing) {
        page.paragraph(
                "On %s, the first deployment is %s times as fast as a loop of Liquibase over the schemas, a rerun %s times, one `ALTER TABLE` %s times."
                        .formatted(
                                sizes,
                                results.times(Step.FIRST),
                                results.times(Step.RERUN),
                                results.times(Step.ALTER)));
        page.made(sizing, machine + ". Servers and command share it.");
        page.section("Goals").targets(results.targets(sizes.shards()));
        besideLoop();
        conditions();
        return page;
    }

    private void besideLoop() {
        page.section("Beside a loop of Liquibase").paragraph("""
                Two tables, an index and a foreign key to %s, each in a schema of its own; then the same once more, when there is nothing to do; then a
                column for one table. In %d interleaved rounds, each in new databases. Seconds are the median, with the
                least and the greatest in parentheses; so are ratios, which are of the times of one round.
                """.formatted(sizes, sizes.rounds()));
        List<List<String>> rows = new ArrayList<>();
        BarChart chart = new BarChart("Deployments to " + sizes, "seconds, from 1 up, less is better").logarithmic();
        for (Step step : Step.values()) {
            Interval deploy = results.deploy(step);
            rows.add(List.of(
                    step.label(),
                    deploy.toString(),
                    Figures.number(deploy.median() * 1e3 / sizes.shards()),
                    results.loop(step).toString(),
                    results.times(step).toString()));
            String label = step.label().replace("`", "");
            chart.bar("schema deploy, " + label, deploy, true);
            chart.bar("loop, " + label, results.loop(step), false);
        }
        page.table(List.of("", "`schema deploy`, s", "ms a shard", "Loop, s", "Times as fast"), rows)
                .chart("deploys-loop.svg", chart);
    }

    private void conditions() {
        page.section("What was measured")
                .list(
                        List.of(
                                "`schema deploy` is a process of its own, run by the launcher `generator-cli/shardflake` with its defaults. The start of Java is part of every time: `shardflake --version` takes %s s. Part of it is also the comparison of all schemas at its end, and ids and fences for every table, which the loop does not make."
                                        .formatted(start),
                                "The loop calls Liquibase in one JVM that goes on from round to round, with a connection and a history for each schema, one after the other and by turns on the servers. It is measured on %d schemas (or all, if there are fewer), in databases that have no others, and its time is multiplied; so it neither pays for Java's start nor for many schemas in one database."
                                        .formatted(sizes.sample()),
                                "A checkpoint is made before each turn. After each `schema deploy` the tables on all servers are counted. Databases are dropped at the very end, since some file systems, ext4 among them, are slower at creating files for minutes after many were deleted; so servers have more of them from round to round.",
                                "All servers are on the local machine: more of them share its cores and its disk, and nothing here depends on a network.",
                                "Left out: a changelog with more tables, and other settings of `--parallel`, were not measured; [growth](growth.md) has more shards and tables."));
    }
}
