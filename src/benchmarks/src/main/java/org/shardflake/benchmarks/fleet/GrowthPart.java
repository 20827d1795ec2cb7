/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.shardflake.benchmarks.report.LineChart;
import org.shardflake.benchmarks.report.Report;

/** Doubling the number of servers, three times. */
final class GrowthPart implements Part {

    private static final double PART_OF_NETWORK = 0.5;
    private static final List<Double> GIGABITS = List.of(1.0, 10.0, 25.0);
    private static final double[] CURVE = {25e6, 61.4e6, 125e6, 250e6, 625e6, 1250e6, 1562.5e6};

    private final List<Step> steps = new ArrayList<>();

    private record Step(double exponent, int from, int to, Rebalancing plan) {

        String name() {
            return from + " to " + to;
        }

        double inTurn(MoveTime time) {
            return time.inTurn(plan.moves());
        }

        double atOnce(MoveTime time) {
            return Schedule.simulate(plan.moves(), time, to);
        }

        double shortest(MoveTime time) {
            return Schedule.shortest(plan.moves(), time, to);
        }
    }

    GrowthPart(Setting setting) {
        for (double exponent : List.of(0.0, 0.6)) {
            double[] shares = Fleet.shuffled(Zipf.shares(Setting.SHARDS, exponent), setting.random("growth"));
            Fleet fleet = plan(Fleet.roundRobin(shares, Setting.SERVERS.get(0))).after();
            for (int servers : Setting.SERVERS.subList(1, Setting.SERVERS.size())) {
                Rebalancing plan = plan(larger(fleet, servers));
                steps.add(new Step(exponent, fleet.servers(), servers, plan));
                fleet = plan.after();
            }
        }
    }

    private static Rebalancing plan(Fleet fleet) {
        return Rebalancing.of(fleet, shard -> Math.round(Setting.BYTES * fleet.share(shard)));
    }

    private static Fleet larger(Fleet fleet, int servers) {
        return fleet.with(IntStream.range(0, fleet.shards()).map(fleet::server).toArray(), servers);
    }

    private static Map<String, MoveTime> times() {
        Map<String, MoveTime> times = new LinkedHashMap<>();
        times.put("measured rate", MoveTime.measured());
        for (double gigabits : GIGABITS) {
            times.put(
                    "%s Gbit/s".formatted(Units.number(gigabits)),
                    MoveTime.atRate(MoveTime.ofNetwork(gigabits, PART_OF_NETWORK)));
        }
        return times;
    }

    @Override
    public List<Answer> answers() {
        Step first = steps.get(0);
        MoveTime measured = MoveTime.measured();
        return List.of(new Answer(
                "Growing from 64 to 128 servers, %s, at the measured rate of a move"
                        .formatted(Units.bytes(Setting.BYTES)),
                "%s if moves are made one after the other, as `rebalance apply` does; %s if every server has its own: %s times as fast"
                        .formatted(
                                Units.time(first.inTurn(measured)),
                                Units.time(first.atOnce(measured)),
                                Units.number(first.inTurn(measured) / first.atOnce(measured)))));
    }

    @Override
    public void write(Report report) {
        List<List<String>> plans = new ArrayList<>();
        List<List<String>> durations = new ArrayList<>();
        for (Step step : steps) {
            plans.add(Units.row(
                    step.name(),
                    Units.exact(step.exponent()),
                    step.plan().shards(),
                    step.plan().moves().size(),
                    Units.percent((double) step.plan().bytes() / Setting.BYTES),
                    Units.percent((double) (step.to() - step.from()) / step.to()),
                    step.plan().after().imbalance()));
            times().forEach((name, time) -> durations.add(Units.row(
                    step.name(),
                    Units.exact(step.exponent()),
                    name,
                    Units.time(step.inTurn(time)),
                    Units.time(step.atOnce(time)),
                    Units.time(step.shortest(time)))));
        }
        MoveTime measured = MoveTime.measured();
        report.section("Growing: 64, 128, 256, 512 servers")
                .paragraph("""
                        Empty servers join, and `RebalancePlanner` plans. All of the fleet is %s, whatever the number of servers. A move takes
                        """.formatted(Units.bytes(Setting.BYTES)))
                .formula("t = F + \\frac{S}{b} + c \\, m")
                .paragraph("""
                        for *S* bytes in *m* shards, with *F* = %s s and *c* = %s s. **Assumed:** *b* is %s MB/s, which a move with both of its
                        comparisons had in the [guide](../guide/moves.md#what-the-application-notices), everything on two cores, where *F* is
                        the time of a move of 35 empty shards, and *c* the median pause under load as well; or half of a network of 1, 10 or 25
                        Gbit/s, which no move has been measured to fill. On PostgreSQL 15 a move that begins soon after another waits for
                        up to 5 s more, which is left out. `rebalance apply` makes one move after the other. "At once" begins a
                        move as soon as neither of its servers is in another: a simulated schedule, for which moves of many pairs of servers
                        would have to run side by side. One command does not do that, and it was not tried with so many. No such schedule is
                        shorter than its busiest server; servers that are exactly even after growing from *n*₁ to *n*₂ need a part of the bytes
                        to move, of which the planner leaves out up to its threshold:
                        """.formatted(
                                Units.number(measured.secondsPerMove()),
                                Units.number(measured.secondsPerShard()),
                                Units.number(measured.bytesPerSecond() / 1e6)))
                .formula(
                        "T \\ge \\max_{j} \\sum_{i \\in \\text{moves of } j} t_i, \\quad \\frac{\\text{bytes moved}}{\\text{all bytes}} = 1 - \\frac{n_1}{n_2}")
                .table(
                        List.of(
                                "Servers",
                                "Exponent *s*",
                                "Shards moved",
                                "Moves",
                                "Bytes moved",
                                "1 - *n*₁/*n*₂",
                                "Imbalance after"),
                        plans)
                .table(
                        List.of(
                                "Servers",
                                "Exponent *s*",
                                "Rate",
                                "One after the other",
                                "At once, simulated",
                                "At once, at least"),
                        durations)
                .chart("fleet-growth.svg", chart())
                .paragraph(conclusion());
    }

    private String conclusion() {
        MoveTime measured = MoveTime.measured();
        double inTurn = steps.subList(0, 3).stream()
                .mapToDouble(step -> step.inTurn(measured))
                .sum();
        MoveTime fast = MoveTime.atRate(MoveTime.ofNetwork(25, PART_OF_NETWORK));
        double fastInTurn = steps.subList(0, 3).stream()
                .mapToDouble(step -> step.inTurn(fast))
                .sum();
        double atOnce = steps.subList(0, 3).stream()
                .mapToDouble(step -> step.atOnce(measured))
                .sum();
        return """
                **Conclusion:** each doubling carries almost half of all bytes, so from 64 to 512 servers at the measured rate is %s of
                moves one after the other, and %s at once. Half of 25 Gbit/s, one after the other, is %s: a fleet of this size needs moves side by
                side before it needs a faster network.
                """.formatted(Units.time(inTurn), Units.time(atOnce), Units.time(fastInTurn));
    }

    private LineChart chart() {
        LineChart chart = new LineChart(
                "Doubling a fleet of " + Units.bytes(Setting.BYTES) + ", all shards alike",
                "MB/s of one move",
                "hours",
                true,
                true);
        double[] x = new double[CURVE.length];
        for (int i = 0; i < x.length; i++) {
            x[i] = CURVE[i] / 1e6;
        }
        for (Step step : steps.subList(0, 3)) {
            double[] inTurn = new double[x.length];
            double[] atOnce = new double[x.length];
            for (int i = 0; i < x.length; i++) {
                MoveTime time = MoveTime.atRate(CURVE[i]);
                inTurn[i] = step.inTurn(time) / 3600;
                atOnce[i] = step.atOnce(time) / 3600;
            }
            chart.series(step.name() + ", one after the other", x, inTurn);
            chart.series(step.name() + ", at once", x, atOnce);
        }
        return chart;
    }
}
