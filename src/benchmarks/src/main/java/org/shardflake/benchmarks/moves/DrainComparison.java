/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.installation.Photos;
import org.shardflake.benchmarks.installation.ShardflakeCommand.Result;
import org.shardflake.benchmarks.moves.WholeMove.CutoverLine;
import org.shardflake.benchmarks.report.BarChart;
import org.shardflake.benchmarks.report.Distribution;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Markdown;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.report.Target;
import org.shardflake.cluster.PostgresCluster;

/** A server that is drained onto one other, and onto several, in turn; then everything goes back. */
public final class DrainComparison {

    private static final String ONTO_ONE = "onto one server";
    private static final String AT_ONCE = "onto %d servers at once";
    private static final String IN_TURN = "onto %d servers, one after the other (--parallel 1)";
    private static final Pattern LEFT = Pattern.compile("\\d+ moves: .*; about (?:(\\d+) min )?(\\d+) s left");

    private final BenchmarkInstallation installation;
    private final ShardSet all;
    private final int targets;
    private final Map<String, List<Double>> pauses = new TreeMap<>();
    private final List<Double> estimates = new ArrayList<>();
    private final List<Double> loads = new ArrayList<>();

    private DrainComparison(BenchmarkInstallation installation, ShardSet all, int targets) {
        this.installation = installation;
        this.all = all;
        this.targets = targets;
    }

    /** Measures, prints the goal and writes {@code drains.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("generator-cli,src/benchmarks", "Drains", "drains.");
        int rounds = sizing.number("rounds", 5);
        int shards = sizing.number("shards", 50);
        int megabytes = sizing.number("megabytes", 100);
        int targets = sizing.number("targets", 5, 2);
        try (PostgresCluster cluster = BenchmarkInstallation.startServers(targets + 1);
                Connection connection = cluster.server(0).connect();
                BenchmarkInstallation installation =
                        BenchmarkInstallation.onFirst(cluster, "drained", targets + 1, shards)) {
            installation.deployPhotos(Photos.CHANGELOG);
            ShardSet all = ShardSet.range(0, shards - 1);
            Photos.fill(installation, "db1", all, Photos.rows((double) megabytes / shards));
            long bytes = Photos.bytes(installation, "db1", all);
            DrainComparison drains = new DrainComparison(installation, all, targets);
            Rounds seconds = drains.measure(rounds);
            drains.page(seconds, bytes, sizing, Machine.describe(connection)).write(Report.directory(), "drains");
        }
    }

    private Rounds measure(int rounds) throws Exception {
        String one = IntStream.rangeClosed(3, targets + 1)
                .mapToObj(server -> "--exclude=db" + server)
                .collect(Collectors.joining(" "));
        Map<String, Rounds.Measurement<Exception>> candidates = new LinkedHashMap<>();
        candidates.put(ONTO_ONE, () -> drain(ONTO_ONE, one));
        candidates.put(atOnce(), () -> drain(atOnce(), "--parallel=" + targets));
        candidates.put(inTurn(), () -> drain(inTurn(), "--parallel=1"));
        return Rounds.run(1, rounds, candidates);
    }

    private String atOnce() {
        return AT_ONCE.formatted(targets);
    }

    private String inTurn() {
        return IN_TURN.formatted(targets);
    }

    private double drain(String what, String options) throws SQLException, IOException, InterruptedException {
        WholeMove.settle(installation);
        List<String> arguments = new ArrayList<>(List.of("server", "drain", "db1", "--by=count", "--yes"));
        arguments.addAll(List.of(options.split(" ")));
        long start = System.nanoTime();
        Map<Double, Double> left = new TreeMap<>();
        Result result = installation
                .command()
                .run(
                        line -> left(line)
                                .ifPresent(seconds -> left.put((System.nanoTime() - start) / 1e9, (double) seconds)),
                        arguments.toArray(String[]::new));
        loads.add(ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
        if (!installation.shardsOf("db1").isEmpty()) {
            throw new IllegalStateException("db1 has shards " + installation.shardsOf("db1"));
        }
        if (what.equals(atOnce())) {
            left.forEach((after, rest) -> estimates.add((after + rest) / result.seconds()));
        }
        for (String message : result.messages()) {
            CutoverLine.parse(message)
                    .ifPresent(line -> pauses.computeIfAbsent(what, name -> new ArrayList<>())
                            .add(line.pauseMillis()));
        }
        System.out.printf("    %-60s %s s%n", what, Figures.number(result.seconds()));
        WholeMove.seconds(installation, all, "db1");
        return result.seconds();
    }

    /** The seconds that are left as a line of progress says, or nothing if it is about something else. */
    static OptionalInt left(String line) {
        Matcher matcher = LEFT.matcher(line);
        if (!matcher.matches()) {
            return OptionalInt.empty();
        }
        int minutes = matcher.group(1) == null ? 0 : Integer.parseInt(matcher.group(1));
        return OptionalInt.of(60 * minutes + Integer.parseInt(matcher.group(2)));
    }

    private Report page(Rounds seconds, long bytes, Sizing sizing, String machine) {
        Interval ratio = seconds.ratio(atOnce(), ONTO_ONE);
        Target goal =
                Target.atMost("drain onto %d servers, times what it takes onto one".formatted(targets), 1.1, "", ratio);
        System.out.println(goal);
        String what =
                "%,d shards of %s MiB".formatted(all.size(), Figures.number(Math.rint(bytes / (double) (1 << 20))));
        BarChart chart = new BarChart("Draining a server of " + what, "seconds, less is better");
        List<List<String>> rows = new ArrayList<>();
        for (String candidate : seconds.candidates()) {
            Distribution its = Distribution.of(pauses.getOrDefault(candidate, List.of(0.0)));
            rows.add(List.of(
                    Markdown.escape(candidate),
                    seconds.of(candidate).toString(),
                    seconds.ratio(candidate, ONTO_ONE).toString(),
                    Figures.number(its.percentile(50)),
                    Figures.number(its.max())));
            chart.bar(candidate, seconds.of(candidate), candidate.equals(atOnce()));
        }
        return new Report("Drains: onto several servers at once")
                .paragraph(
                        "To drain a server onto %d others takes %s times as long as onto one; one move after the other, %s times."
                                .formatted(targets, ratio, seconds.ratio(inTurn(), ONTO_ONE)))
                .made(sizing, machine + ". All servers and the command share it, and its disk.")
                .paragraph("The load average after a drain was %s: with what else ran on the machine."
                        .formatted(Interval.of(loads)))
                .section("Goal")
                .targets(List.of(goal))
                .section("What it takes")
                .paragraph("""
                `server drain` of %s, indexes not counted; everything is moved back after each. One round is not counted. Ratios are
                of the times of one round: the median, and in parentheses the least and the greatest. Pauses are those that the
                command says, from the fence to the opening; nothing else is written.
                """.formatted(what))
                .table(List.of("", "Seconds", "Times onto one", "Pause p50, ms", "Pause max, ms"), rows)
                .chart("drains.svg", chart)
                .section("The estimate")
                .paragraph(
                        estimates.isEmpty()
                                ? "No drain at once took long enough for a line of progress that says how long the rest takes."
                                : "%d lines of progress said how long the rest would take. The whole time by them was %s times what it took then."
                                        .formatted(estimates.size(), Interval.of(estimates)))
                .section("What was measured")
                .list(
                        List.of(
                                "Every command is a process of its own, run by the launcher `generator-cli/shardflake`; its start is part of every time.",
                                "All servers share two cores and one disk here, so moves at once have no more of either than one move. Where each server has its own, they have.",
                                "A checkpoint is made before each drain. PostgreSQL 15 starts subscriptions at most every 5 s (`wal_retrieve_retry_interval`): there, 6 s pass before each drain, but not between the moves that it consists of."));
    }
}
