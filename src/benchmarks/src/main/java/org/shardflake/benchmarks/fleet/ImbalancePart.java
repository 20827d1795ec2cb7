/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.shardflake.benchmarks.report.LineChart;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Spread;

/** How unevenly servers are loaded when shards are placed without knowing their load. */
final class ImbalancePart implements Part {

    private static final List<Double> CURVE = List.of(0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2);

    private static final List<Integer> UIDS = List.of(1_000_000, 10_000_000);

    private final List<Result> results = new ArrayList<>();
    private final List<Uids> uids = new ArrayList<>();
    private final int trials;

    /** Of all trials of one fleet. Deviations are those of the servers' loads, in units of their mean. */
    private record Result(
            int servers,
            double exponent,
            Spread roundRobin,
            Spread atRandom,
            double besideHottest,
            double besideHottestByFormula,
            double deviation,
            double deviationByFormula) {}

    ImbalancePart(Setting setting) {
        trials = setting.trials();
        simulateUids(setting);
        Random random = setting.random("imbalance");
        for (int servers : Setting.SERVERS) {
            for (double exponent : CURVE) {
                results.add(simulate(servers, exponent, random));
            }
        }
    }

    private void simulateUids(Setting setting) {
        Random random = setting.random("uids");
        for (double exponent : Setting.EXPONENTS) {
            UIDS.forEach(count -> uids.add(Uids.simulate(Math.min(count, 10 * setting.events()), exponent, random)));
        }
    }

    private Result simulate(int servers, double exponent, Random random) {
        double[] shares = Zipf.shares(Setting.SHARDS, exponent);
        List<Double> roundRobin = new ArrayList<>();
        List<Double> atRandom = new ArrayList<>();
        double besideHottest = 0;
        double variance = 0;
        for (int trial = 0; trial < trials; trial++) {
            double[] shuffled = Fleet.shuffled(shares, random);
            Fleet even = Fleet.roundRobin(shuffled, servers);
            roundRobin.add(even.imbalance());
            atRandom.add(Fleet.atRandom(shuffled, servers, random).imbalance());
            besideHottest += servers * even.loadBesideHottest() / trials;
            variance += Arrays.stream(even.loads())
                            .map(load -> Math.pow(servers * load - 1, 2))
                            .average()
                            .orElseThrow()
                    / trials;
        }
        return new Result(
                servers,
                exponent,
                Spread.of(roundRobin),
                Spread.of(atRandom),
                besideHottest,
                besideHottest(shares, servers),
                Math.sqrt(variance),
                deviation(shares, servers));
    }

    /** Expected load of the server with the hottest shard, in units of the mean, with as many shards on each server. */
    static double besideHottest(double[] shares, int servers) {
        double others = (double) shares.length / servers - 1;
        return servers * (shares[0] + (1 - shares[0]) * others / (shares.length - 1));
    }

    /** Standard deviation of the servers' loads, in units of the mean, with as many shards on each: drawn without putting back. */
    static double deviation(double[] shares, int servers) {
        double mean = 1.0 / shares.length;
        double variance = Arrays.stream(shares)
                .map(share -> (share - mean) * (share - mean))
                .average()
                .orElseThrow();
        double each = (double) shares.length / servers;
        return servers * Math.sqrt(each * variance * (shares.length - each) / (shares.length - 1));
    }

    private Result get(int servers, double exponent) {
        return results.stream()
                .filter(result -> result.servers() == servers && result.exponent() == exponent)
                .findFirst()
                .orElseThrow();
    }

    @Override
    public List<Answer> answers() {
        return List.of(new Answer(
                "Most loaded server over the mean, shards placed round robin, Zipf exponent 0.8",
                "%s times with 64 servers, %s times with 512"
                        .formatted(get(64, 0.8).roundRobin(), get(512, 0.8).roundRobin())));
    }

    @Override
    public void write(Report report) {
        report.section("Imbalance: shards placed without knowing their load")
                .paragraph("""
                        The shard of rank *r* has a share *p* of the load by Zipf's law; which shard has which rank is drawn at random,
                        %d times for each line. *Imbalance* is the load of the most loaded of *n* servers divided by the mean. Round
                        robin gives each server 8192/*n* shards; "at random" draws a server for each shard alone. Where
                        hot shards are few, the imbalance is that of the server which has the hottest one; its expected load, and the standard
                        deviation *σ* of all servers' loads, both in units of the mean load, have closed forms:
                        """.formatted(trials))
                .formula("""
                        p_r = \\frac{r^{-s}}{H_{M,s}}, \\quad H_{M,s} = \\sum_{r=1}^{M} r^{-s}, \\quad M = 8192, \\quad k = M/n
                        """)
                .formula("""
                        L_1 = n \\left( p_1 + (1 - p_1) \\frac{k - 1}{M - 1} \\right), \\quad
                        \\sigma = n \\sqrt{k \\, \\mathrm{Var}(p) \\, \\frac{M - k}{M - 1}}
                        """)
                .table(
                        List.of(
                                "Servers",
                                "Exponent *s*",
                                "Imbalance, round robin",
                                "Imbalance, at random",
                                "Server of the hottest shard, simulated",
                                "*L*₁",
                                "Deviation, simulated",
                                "*σ*"),
                        results.stream()
                                .filter(result -> Setting.EXPONENTS.contains(result.exponent()))
                                .map(result -> Units.row(
                                        result.servers(),
                                        Units.exact(result.exponent()),
                                        result.roundRobin(),
                                        result.atRandom(),
                                        result.besideHottest(),
                                        result.besideHottestByFormula(),
                                        result.deviation(),
                                        result.deviationByFormula()))
                                .toList())
                .chart("fleet-imbalance.svg", chart())
                .paragraph("""
                        These are exponents of shards. A shard has many uids, and is more even than they are; but the hottest uid is in one
                        shard, however many there are. Uids by Zipf's law, each in a shard drawn at random, *q* being the share of the hottest
                        uid:
                        """)
                .formula("E[\\text{share of its shard}] = q + \\frac{1 - q}{M}, \\quad q = 1 / H_{U,s}")
                .table(
                        List.of(
                                "Exponent of uids",
                                "Uids, *U*",
                                "Hottest uid, *q*",
                                "Hottest shard, simulated",
                                "Its shard, by the formula",
                                "Hottest shard / mean shard"),
                        uids.stream()
                                .map(each -> Units.row(
                                        Units.exact(each.exponent()),
                                        each.uids(),
                                        Units.percent(each.hottestUid()),
                                        Units.percent(each.hottestShard()),
                                        Units.percent(each.expected()),
                                        each.hottestOverMean()))
                                .toList())
                .paragraph("""
                        **Conclusion:** with an exponent of 1, a placement that does not know the load makes one of 512 servers %s times as
                        loaded as the mean, and one of 64 %s times: more servers make it worse, since the hottest shard does not get smaller.
                        """.formatted(
                                Units.number(get(512, 1.0).roundRobin().median()),
                                Units.number(get(64, 1.0).roundRobin().median())));
    }

    private LineChart chart() {
        LineChart chart = new LineChart(
                "Imbalance before rebalancing, 8192 shards round robin",
                "Zipf exponent (0: all shards alike)",
                "most loaded server / mean",
                false,
                true);
        for (int servers : Setting.SERVERS) {
            chart.series(
                    servers + " servers",
                    CURVE.stream().mapToDouble(Double::doubleValue).toArray(),
                    CURVE.stream()
                            .mapToDouble(exponent ->
                                    get(servers, exponent).roundRobin().median())
                            .toArray());
        }
        return chart;
    }
}
