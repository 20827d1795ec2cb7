/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToIntFunction;
import org.shardflake.benchmarks.report.BarChart;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.LineChart;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Spread;
import org.shardflake.benchmarks.report.Target;

/** The page about deployments. */
final class DeployPage {

    private final Results results;
    private final Sizes sizes;
    private final Spread start;
    private final Report page = new Report("Deploys: beside Liquibase once per schema, and how they grow");

    /**
     * A page without content.
     *
     * @param start of the command alone, in seconds
     */
    DeployPage(Results results, Sizes sizes, Spread start) {
        this.results = results;
        this.sizes = sizes;
        this.start = start;
    }

    Report write(String machine, Sizing sizing) {
        Sizes.Case base = sizes.base();
        page.paragraph(
                "On %s, the first deployment is %s times as fast as a loop of Liquibase over the schemas, a rerun %s times, one `ALTER TABLE` %s times."
                        .formatted(
                                base,
                                results.times(base, Step.FIRST),
                                results.times(base, Step.RERUN),
                                results.times(base, Step.ALTER)));
        if (sizing.isShort()) {
            page.paragraph("**This was a short run, to see that it works: its figures mean little.**");
        }
        page.command(sizing.command()).paragraph("On " + machine + ". Servers and command share it.");
        page.section("Goals")
                .table(
                        Target.HEADERS,
                        results.targets(base).stream().map(Target::row).toList());
        besideLoop(base);
        growth("By shards", "shards", sizes.byShards(), Sizes.Case::shards, true);
        growth("By servers", "servers", sizes.byServers(), Sizes.Case::servers, false);
        conditions();
        return page;
    }

    private void besideLoop(Sizes.Case base) {
        page.section("Beside a loop of Liquibase").paragraph("""
                Two tables, an index and a foreign key to %s, each in a schema of its own; then the same once more, when there is nothing to do; then a
                column for one table. In %d interleaved rounds, each in new databases. Seconds are the median, with the
                least and the greatest in parentheses; so are ratios, which are of the times of one round.
                """.formatted(base, sizes.rounds()));
        List<List<String>> rows = new ArrayList<>();
        BarChart chart = new BarChart("Deployments to " + base, "seconds, from 1 up, less is better").logarithmic();
        for (Step step : Step.values()) {
            rows.add(row(step.label(), base, step));
            String label = step.label().replace("`", "");
            chart.bar("schema deploy, " + label, results.deploy(base, step), true);
            chart.bar("loop, " + label, results.loop(base, step), false);
        }
        page.table(List.of("", "`schema deploy`, s", "ms a shard", "Loop, s", "Times as fast"), rows)
                .chart("deploys-loop.svg", chart);
    }

    private List<String> row(String label, Sizes.Case where, Step step) {
        Spread deploy = results.deploy(where, step);
        return List.of(
                label,
                deploy.toString(),
                Figures.number(Results.each(deploy, where.shards()).median()),
                results.loop(where, step).toString(),
                results.times(where, step).toString());
    }

    private void growth(
            String heading, String what, List<Sizes.Case> cases, ToIntFunction<Sizes.Case> x, boolean logarithmic) {
        page.section(heading).paragraph("Rounds: %s.".formatted(rounds(cases)));
        LineChart chart = new LineChart(
                "Time of schema deploy by the number of %s".formatted(what), what, "seconds", logarithmic, logarithmic);
        double[] across = cases.stream().mapToDouble(x::applyAsInt).toArray();
        for (Step step : Step.values()) {
            List<List<String>> rows = new ArrayList<>();
            cases.forEach(where -> rows.add(row(where.toString(), where, step)));
            page.paragraph(capitalized(step.label()) + ":")
                    .table(List.of("", "`schema deploy`, s", "ms a shard", "Loop, s", "Times as fast"), rows);
            chart.series(
                    step.label().replace("`", ""),
                    across,
                    cases.stream()
                            .mapToDouble(where -> results.deploy(where, step).median())
                            .toArray());
        }
        page.chart("deploys-%s.svg".formatted(what), chart);
    }

    private static String capitalized(String text) {
        return text.substring(0, 1).toUpperCase(Locale.ROOT) + text.substring(1);
    }

    private String rounds(List<Sizes.Case> cases) {
        return String.join(
                ", ",
                cases.stream()
                        .map(where -> "%d of %s".formatted(sizes.rounds(where), where))
                        .toList());
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
                                "Left out: shards and servers grow each by itself; a changelog with more tables, and other settings of `--parallel`, were not measured."));
    }
}
