/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.shardflake.benchmarks.report.LineChart;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Spread;

/** Taking every shard off one server. */
final class DrainPart implements Part {

    private static final double PART_OF_NETWORK = 0.5;
    private static final double WRITES = 20e6;
    private static final List<Double> SIZES = List.of(0.1e12, 0.5e12, 1e12, 2e12);
    private static final double LARGEST = 2e12;
    private static final int MOVES = 63;

    private final List<Result> results = new ArrayList<>();
    private final Map<Integer, Rebalancing> plans = new LinkedHashMap<>();
    private final int trials;

    private record Result(double size, String name, double rate, Drain drain, Spread simulated) {}

    DrainPart(Setting setting) {
        trials = setting.trials();
        Random random = setting.random("drain");
        for (double size : SIZES) {
            rates().forEach((name, rate) -> results.add(simulate(size, name, rate, random)));
        }
        double[] shares = Zipf.shares(Setting.SHARDS, 0);
        for (int servers : Setting.SERVERS) {
            Fleet fleet = Fleet.roundRobin(shares, servers);
            plans.put(servers, Rebalancing.draining(0, fleet, shard -> Math.round(Setting.BYTES * fleet.share(shard))));
        }
    }

    private static Map<String, Double> rates() {
        Map<String, Double> rates = new LinkedHashMap<>();
        rates.put("one move, as measured", MoveTime.measured().bytesPerSecond());
        for (double gigabits : List.of(1.0, 10.0, 25.0)) {
            rates.put("%s Gbit/s".formatted(Units.number(gigabits)), MoveTime.ofNetwork(gigabits, PART_OF_NETWORK));
        }
        return rates;
    }

    private Result simulate(double size, String name, double rate, Random random) {
        Drain drain = new Drain(size, rate, WRITES);
        List<Double> seconds = new ArrayList<>();
        for (int trial = 0; trial < trials; trial++) {
            seconds.add(drain.simulated(random));
        }
        return new Result(size, name, rate, drain, Spread.of(seconds));
    }

    private Result get(double size, String name) {
        return results.stream()
                .filter(result -> result.size() == size && result.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    @Override
    public List<Answer> answers() {
        double slow = get(LARGEST, "one move, as measured").drain().seconds();
        double fast = get(LARGEST, "25 Gbit/s").drain().seconds();
        return List.of(new Answer(
                "Draining a server of %s that is written to at %s MB/s"
                        .formatted(Units.bytes(LARGEST), Units.number(WRITES / 1e6)),
                "%s at the measured rate of one move; %s at half of 25 Gbit/s: %s times as fast"
                        .formatted(Units.time(slow), Units.time(fast), Units.number(slow / fast))));
    }

    @Override
    public void write(Report report) {
        report.section("Draining a server")
                .paragraph("""
                        While the *S* bytes of a server are carried off at *b* bytes a second, the application writes *w* bytes a second to it,
                        which have to follow. **Assumed:** *w* is %s MB/s; moves may take half of the network; *b* is the source's, so the
                        targets together take as much. The simulation goes second by second, with all writes in a random tenth of the seconds,
                        %d times. While the copy runs, the source keeps the write-ahead log of what is written: *W* bytes, and more with whole
                        pages in it.
                        """.formatted(Units.number(WRITES / 1e6), trials))
                .formula("T = \\frac{S}{b - w}, \\quad W = w \\, \\frac{S}{b}, \\quad w < b")
                .table(
                        List.of("Size", "Rate", "MB/s", "*T*", "Simulated", "Simulated / *T*", "*W*", "In 63 moves"),
                        results.stream().map(DrainPart::row).toList())
                .chart("fleet-drain.svg", chart())
                .paragraph("""
                        "In 63 moves" is for as many targets one after the other: a move's stream carries its own shards' writes only, so *w* becomes
                        *w*/63, and the log kept at a time *W*/63. That is what `server drain` does: one move for each target, so *b* is never more
                        than one move can carry. To use the bandwidth of a network *B* at a rate *R* of one move, *m* moves have to run at once,
                        which one command does not do and which was not tried:
                        """)
                .formula("b = \\min(\\alpha B, \\; m R), \\quad m \\ge \\alpha B / R")
                .table(
                        List.of(
                                "Network, *B*",
                                "Part that moves may take, *α*",
                                "MB/s",
                                "Moves at once, *m*",
                                "*T* for " + Units.bytes(LARGEST)),
                        shares())
                .paragraph("""
                        What does not depend on the size is a fixed time for each move and each cutover, here of the plans that `RebalancePlanner`
                        makes for one server of a fleet of %s with shards all alike.
                        """.formatted(Units.bytes(Setting.BYTES)))
                .table(
                        List.of(
                                "Servers",
                                "Bytes of the server",
                                "Shards",
                                "Targets",
                                "Fixed time",
                                "Part of the time at the measured rate",
                                "At 12.5 Gbit/s"),
                        plans.entrySet().stream()
                                .map(plan -> fixed(plan.getKey(), plan.getValue()))
                                .toList())
                .chart("fleet-drain-writes.svg", writesChart())
                .paragraph(conclusion());
    }

    private static List<String> row(Result result) {
        Drain drain = result.drain();
        return Units.row(
                Units.bytes(result.size()),
                result.name(),
                result.rate() / 1e6,
                Units.time(drain.seconds()),
                Units.spread(result.simulated(), Units::time),
                result.simulated().median() / drain.seconds(),
                Units.bytes(drain.kept()),
                Units.time(inMoves(drain).seconds()));
    }

    private static List<List<String>> shares() {
        List<List<String>> rows = new ArrayList<>();
        for (double gigabits : List.of(1.0, 10.0, 25.0)) {
            for (double part : List.of(0.25, 0.5, 0.9)) {
                double rate = MoveTime.ofNetwork(gigabits, part);
                rows.add(Units.row(
                        Units.number(gigabits) + " Gbit/s",
                        Units.percent(part),
                        rate / 1e6,
                        Math.ceil(rate / MoveTime.measured().bytesPerSecond()),
                        Units.time(new Drain(LARGEST, rate, WRITES).seconds())));
            }
        }
        return rows;
    }

    /** In moves one after the other, each with its part of the writes. */
    private static Drain inMoves(Drain drain) {
        return new Drain(drain.bytes(), drain.bytesPerSecond(), drain.writesPerSecond() / MOVES);
    }

    private static List<String> fixed(int servers, Rebalancing plan) {
        MoveTime none = MoveTime.atRate(Double.POSITIVE_INFINITY);
        double fixed = none.inTurn(plan.moves());
        return Units.row(
                servers,
                Units.bytes((double) plan.bytes()),
                plan.shards(),
                plan.moves().size(),
                Units.time(fixed),
                Units.percent(fixed / MoveTime.measured().inTurn(plan.moves())),
                Units.percent(fixed
                        / MoveTime.atRate(MoveTime.ofNetwork(25, PART_OF_NETWORK))
                                .inTurn(plan.moves())));
    }

    private String conclusion() {
        Drain slow = get(LARGEST, "one move, as measured").drain();
        return """
                **Conclusion:** a full server of %s takes %s in one move at the measured rate and keeps at least %s of write-ahead log
                meanwhile; by `server drain`, in 63 moves one after the other, %s and %s. Begin long before the disk is full, and expect no
                end where writes come near to the rate of a move.
                """.formatted(
                        Units.bytes(LARGEST),
                        Units.time(slow.seconds()),
                        Units.bytes(slow.kept()),
                        Units.time(inMoves(slow).seconds()),
                        Units.bytes(slow.kept() / MOVES));
    }

    private LineChart chart() {
        LineChart chart = new LineChart(
                "Draining a server, %s MB/s written meanwhile".formatted(Units.number(WRITES / 1e6)),
                "TB on the server",
                "hours",
                true,
                true);
        rates().forEach((name, rate) -> chart.series(
                name,
                SIZES.stream().mapToDouble(size -> size / 1e12).toArray(),
                SIZES.stream()
                        .mapToDouble(size -> get(size, name).drain().seconds() / 3600)
                        .toArray()));
        return chart;
    }

    private static LineChart writesChart() {
        double[] parts = {0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95};
        double[] longer = new double[parts.length];
        for (int i = 0; i < parts.length; i++) {
            longer[i] = new Drain(1, 1, parts[i]).seconds();
        }
        return new LineChart(
                        "What writes do to a drain", "writes w / rate b", "time / time without writes", false, true)
                .series("1 / (1 - w/b)", parts, longer);
    }
}
