/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.shardflake.benchmarks.moves.MoveComparison.Results;
import org.shardflake.benchmarks.moves.MoveComparison.Sizes;
import org.shardflake.benchmarks.report.BarChart;
import org.shardflake.benchmarks.report.Distribution;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Markdown;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Sizing;

/** The page about moves. */
final class MovePage {

    private final Results results;
    private final Sizes sizes;
    private final Report page = new Report("Moves: beside dump and restore");

    MovePage(Results results, Sizes sizes) {
        this.results = results;
        this.sizes = sizes;
    }

    Report write(String machine, Sizing sizing) {
        page.paragraph(headline());
        page.made(sizing, machine + ". Servers, load and command share it.");
        page.section("Goals").targets(results.targets());
        besideDump();
        largeShard();
        stages();
        pauses();
        conditions();
        return page;
    }

    private String headline() {
        Distribution pauses = results.pauses().pauses();
        String pause =
                "The write pause of a cutover under load is %s ms at the median, %s ms at the 99th percentile and %s ms at most, of %d cutovers."
                        .formatted(
                                Figures.number(pauses.percentile(50)),
                                Figures.number(pauses.percentile(99)),
                                Figures.number(pauses.max()),
                                pauses.size());
        if (!results.dumps().notMeasured().isEmpty()) {
            return pause;
        }
        return "A whole move, with both copies compared, is %s times as fast as dump and restore. %s"
                .formatted(results.dumps().seconds().ratio(DumpComparison.DUMP, DumpComparison.MOVE), pause);
    }

    private void besideDump() {
        DumpComparison dumps = results.dumps();
        page.section("Beside dump and restore")
                .paragraph("""
                %s of %s MiB, indexes not counted, from one server to the other and back, in %d interleaved rounds after one that
                is not counted, in which the servers make the files of their write-ahead logs. The move is
                `shardflake move run`: it copies, follows, cuts over, compares both copies and removes the source's. Dump and
                restore copy the same rows into a new database of the same server, and compare and remove nothing; what is
                written meanwhile they would not have. Ratios are of the times of one round: the median, and in parentheses the
                least and the greatest.
                """.formatted(shards(sizes.shards()), mebibytes(dumps.bytes()), sizes.rounds()));
        if (!dumps.notMeasured().isEmpty()) {
            page.paragraph(
                    "**Dump and restore were not measured:** %s.".formatted(Markdown.escape(dumps.notMeasured())));
        }
        BarChart chart = new BarChart(
                "%s of %s MiB to another server".formatted(shards(sizes.shards()), mebibytes(dumps.bytes())),
                "seconds, less is better");
        table(dumps, chart);
        page.chart("moves-dump.svg", chart);
    }

    private void table(DumpComparison dumps, BarChart chart) {
        List<List<String>> rows = new ArrayList<>();
        for (String candidate : dumps.seconds().candidates()) {
            Interval seconds = dumps.seconds().of(candidate);
            rows.add(List.of(
                    Markdown.escape(candidate),
                    seconds.toString(),
                    Figures.number(dumps.bytes() / (double) (1 << 20) / seconds.median()),
                    dumps.seconds().ratio(candidate, DumpComparison.MOVE).toString()));
            chart.bar(candidate, seconds, candidate.equals(DumpComparison.MOVE));
        }
        page.table(List.of("", "Seconds", "MiB/s", "Times the move's time"), rows);
    }

    private void largeShard() {
        DumpComparison large = results.large();
        page.section("One large shard").paragraph("""
                The same with one shard of %s MiB, nearly all of them in one table. It is copied over one connection.
                """.formatted(mebibytes(large.bytes())));
        BarChart chart = new BarChart(
                "1 shard of %s MiB to another server".formatted(mebibytes(large.bytes())), "seconds, less is better");
        table(large, chart);
        page.chart("moves-large.svg", chart);
    }

    private void stages() {
        List<List<String>> rows = new ArrayList<>();
        Map<String, Double> many = results.dumps().stages();
        Map<String, Double> one = results.large().stages();
        for (String stage : many.keySet()) {
            rows.add(List.of(
                    stage,
                    Figures.number(many.getOrDefault(stage, 0.0)),
                    Figures.number(one.getOrDefault(stage, 0.0))));
        }
        rows.add(List.of("all", Figures.number(sum(many)), Figures.number(sum(one))));
        rows.add(List.of(
                "beside it, the rows alone: " + DumpComparison.PIPE,
                results.dumps().seconds().of(DumpComparison.PIPE).toString(),
                results.large().seconds().of(DumpComparison.PIPE).toString()));
        page.section("Where the time goes")
                .paragraph("""
                One more move of each kind, carried out within a process that runs already, so without the start of the command.
                The last line is what the machine can do with these rows: binary `COPY` to binary `COPY` over two pairs of
                connections, into tables without index or constraint, with nothing followed, compared or analyzed.
                """)
                .table(List.of("Seconds", shards(sizes.shards()), "1 large shard"), rows);
    }

    private static double sum(Map<String, Double> seconds) {
        return seconds.values().stream().mapToDouble(Double::doubleValue).sum();
    }

    private void pauses() {
        CutoverPauses pauses = results.pauses();
        int cutovers = pauses.pauses().size();
        page.section("Pauses of cutovers").paragraph("""
                %d cutovers in one move of %s, there by `move cutover` and back by `move reverse`, one shard after the other.
                Beside them %d threads write transactions of three statements through the router, with %d ms of rest after
                each. A probe inserts a row through the router, waits a millisecond and inserts the next: its pause is the
                longest time between two acknowledged inserts, from some time before the cutover until the first one after it. As
                many at a time, the next %d, are probed. The same was then probed for the same times without cutovers, for what of
                it is the machine's. What the command itself says counts from the fence to the opening.
                """.formatted(
                        cutovers,
                        shards(sizes.groupShards()),
                        sizes.loadThreads(),
                        sizes.loadRestMillis(),
                        RollingProbe.AHEAD));
        page.table(
                List.of("Milliseconds", "p50", "p90", "p99", "max"),
                List.of(
                        row("pause at a cutover", pauses.pauses()),
                        row("the same without a cutover", pauses.without()),
                        row("pause as the command says it", pauses.said())));
        page.paragraph(
                "%,d transactions were acknowledged, %,d failed%s; %,d attempts at a cutover gave themselves up. Afterwards every shard's rows were counted: %,d acknowledged ones were missing, %,d were too many."
                        .formatted(
                                pauses.transactions(),
                                pauses.failed(),
                                pauses.failed() == 0
                                        ? ""
                                        : " (the first with " + Markdown.escape(pauses.firstFailure()) + ")",
                                pauses.attemptsGivenUp(),
                                pauses.lost(),
                                pauses.doubled()));
    }

    private static List<String> row(String what, Distribution millis) {
        return List.of(
                what,
                Figures.number(millis.percentile(50)),
                Figures.number(millis.percentile(90)),
                Figures.number(millis.percentile(99)),
                Figures.number(millis.max()));
    }

    private void conditions() {
        page.section("What was measured")
                .list(
                        List.of(
                                "Every command is a process of its own, run by the launcher `generator-cli/shardflake` with its defaults. Its start is part of every time: `shardflake --version` takes %s s."
                                        .formatted(results.start()),
                                "The tables are `photo (id, uid, title)` with 256 characters of title and an index on `uid`, and `tag (id, photo_id)` with a foreign key; one tag for each photo.",
                                "A checkpoint is made before each turn. All servers are on the local machine, so nothing here depends on a network.",
                                "PostgreSQL 15 starts subscriptions at most every 5 s (`wal_retrieve_retry_interval`): there, 6 s pass before each move that is measured.",
                                "After every command the shard map is read, to see that the shards are where they were to go; the rows of each dump are counted after it was restored.",
                                "Left out: groups above the sizes here, moves of more shards at once, and growth under load were not measured; [growth](growth.md) has more shards and tables."));
    }

    private static String shards(int count) {
        return count == 1 ? "1 shard" : "%,d shards".formatted(count);
    }

    private static String mebibytes(long bytes) {
        return Figures.number(Math.rint(bytes / (double) (1 << 20)));
    }
}
