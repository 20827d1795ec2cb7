/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import org.shardflake.benchmarks.report.LineChart;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Spread;

/** Shards that no placement helps with, and how many shards a server needs so that placement does not matter. */
final class HotShardsPart implements Part {

    private static final List<Double> SIGMAS = List.of(0.5, 1.0, 1.5, 2.0);
    private static final List<Integer> EACH = List.of(4, 16, 64, 128, 256, 1024);
    private static final List<Double> BOUNDS = List.of(2.0, 1.5, 1.2, 1.1);

    private final Map<HotShard, Double> exceeded = new LinkedHashMap<>();
    private final Map<BallsInBins, Spread> thrown = new LinkedHashMap<>();
    private final int trials;

    HotShardsPart(Setting setting) {
        trials = setting.trials();
        Random random = setting.random("hot shards");
        for (double sigma : SIGMAS) {
            for (int servers : Setting.SERVERS) {
                HotShard hot = new HotShard(Setting.SHARDS, servers, sigma);
                exceeded.put(hot, hot.simulated(4 * trials, random));
            }
        }
        for (int servers : List.of(64, 512)) {
            for (int each : EACH) {
                thrown.put(new BallsInBins(each * servers, servers), thrown(each, servers, random));
            }
        }
    }

    private Spread thrown(int each, int servers, Random random) {
        double[] alike = Zipf.shares(each * servers, 0);
        List<Double> imbalances = new ArrayList<>();
        for (int trial = 0; trial < trials; trial++) {
            imbalances.add(Fleet.atRandom(alike, servers, random).imbalance());
        }
        return Spread.of(imbalances);
    }

    /** How even it gets when the hottest shard is placed first, and each on the server with the least load. */
    static double bestFound(double[] hottestFirst, int servers) {
        PriorityQueue<Double> loads = new PriorityQueue<>();
        for (int server = 0; server < servers; server++) {
            loads.add(0.0);
        }
        for (double share : hottestFirst) {
            loads.add(loads.remove() + share);
        }
        return servers * loads.stream().mapToDouble(Double::doubleValue).max().orElseThrow();
    }

    /** Shards with more than the mean load of a server: those up to this rank. */
    static int hotterThanAServer(double exponent, int servers) {
        double harmonic = Zipf.harmonic(Setting.SHARDS, exponent);
        return (int) Math.floor(Math.pow(servers / harmonic, 1 / exponent));
    }

    @Override
    public List<Answer> answers() {
        return List.of(
                new Answer(
                        "Servers beyond which the hottest shard alone is more than the mean of a server",
                        "%s with a Zipf exponent of 0.8, %s with 1"
                                .formatted(
                                        Units.number(Math.floor(Zipf.harmonic(Setting.SHARDS, 0.8))),
                                        Units.number(Math.floor(Zipf.harmonic(Setting.SHARDS, 1))))),
                new Answer(
                        "Equal shards a server needs for an imbalance of 1.1, 512 servers, each shard at random",
                        Units.number(BallsInBins.shardsPerServer(512, 1.1)) + "; 8192 shards are 16"));
    }

    @Override
    public void write(Report report) {
        report.section("Hot shards: where no placement helps");
        zipf(report);
        lognormal(report);
        report.section("How many shards a server needs");
        balls(report);
    }

    private static void zipf(Report report) {
        List<List<String>> rows = new ArrayList<>();
        for (double exponent : Setting.EXPONENTS) {
            double[] shares = Zipf.shares(Setting.SHARDS, exponent);
            for (int servers : Setting.SERVERS) {
                rows.add(Units.row(
                        Units.exact(exponent),
                        servers,
                        Zipf.harmonic(Setting.SHARDS, exponent),
                        Units.percent(shares[0]),
                        Arrays.stream(shares)
                                .filter(share -> share > 1.0 / servers)
                                .count(),
                        hotterThanAServer(exponent, servers),
                        bestFound(shares, servers),
                        RebalancePart.floor(servers, exponent)));
            }
        }
        report.paragraph("""
                        A shard is on one server. When the hottest one's share of the load is more than 1/*n*, its server is above the mean
                        wherever the others are; for an imbalance of at most *x* it must be no more than *x*/*n*. By Zipf's law that is so up
                        to *n* = *x H* servers, and *q* shards are hotter than the mean server. The best placement found takes the
                        hottest shard first, and each on the server with the least load.
                        """)
                .formula("""
                        p_1 \\le \\frac{x}{n} \\iff n \\le x \\, H_{M,s}, \\quad
                        q = \\left\\lfloor \\left( n / H_{M,s} \\right)^{1/s} \\right\\rfloor
                        """)
                .table(
                        List.of(
                                "Exponent *s*",
                                "Servers",
                                "*H*",
                                "Hottest shard",
                                "Hotter than the mean server, counted",
                                "*q*",
                                "Imbalance of the best placement found",
                                "max(1, *n*/*H*)"),
                        rows)
                .paragraph("""
                        **Conclusion:** with an exponent of 1 no placement on more than %s servers is even; there a hot shard needs replicas, a
                        cache, a larger server (label `weight`), or a sharding key that splits it.
                        """.formatted(Units.number(Math.floor(Zipf.harmonic(Setting.SHARDS, 1)))));
    }

    private void lognormal(Report report) {
        List<List<String>> rows = new ArrayList<>();
        exceeded.forEach((hot, simulated) -> rows.add(Units.row(
                Units.exact(hot.sigma()), hot.servers(), Units.percent(simulated), Units.percent(hot.probability()))));
        report.paragraph("""
                        By how much loads differ is not known before. **Assumed** now: they are independent and lognormal, the logarithm with a
                        standard deviation of *σ*. The probability that some shard is hotter than the mean server, with *Q* the normal
                        distribution's upper tail, and in %d fleets drawn at random:
                        """.formatted(4 * trials))
                .formula("""
                        P = 1 - \\left( 1 - Q\\left( \\frac{\\ln (M/n) + \\sigma^2/2}{\\sigma} \\right) \\right)^{M}
                        """)
                .table(List.of("*σ*", "Servers", "Simulated", "*P*"), rows)
                .chart("fleet-hot.svg", hotChart())
                .paragraph("""
                        **Conclusion:** with *σ* = 1 a shard hotter than a server is to be expected in %s of the fleets of 64 servers and in %s
                        of those of 512.
                        """.formatted(
                                Units.percent(new HotShard(Setting.SHARDS, 64, 1).probability()),
                                Units.percent(new HotShard(Setting.SHARDS, 512, 1).probability())));
    }

    private static LineChart hotChart() {
        LineChart chart = new LineChart(
                "Probability that a shard is hotter than a server", "servers", "probability", true, false);
        double[] servers = {16, 32, 64, 128, 256, 512, 1024};
        for (double sigma : SIGMAS) {
            chart.series(
                    "σ = " + Units.exact(sigma),
                    servers,
                    Arrays.stream(servers)
                            .map(count -> new HotShard(Setting.SHARDS, (int) count, sigma).probability())
                            .toArray());
        }
        return chart;
    }

    private void balls(Report report) {
        List<List<String>> rows = new ArrayList<>();
        thrown.forEach((balls, simulated) -> rows.add(
                Units.row(balls.servers(), balls.mean(), simulated, balls.imbalance(), balls.roughImbalance())));
        List<List<String>> needed = new ArrayList<>();
        for (int servers : Setting.SERVERS) {
            List<Object> row = new ArrayList<>(List.of(servers));
            for (double bound : BOUNDS) {
                row.add(BallsInBins.shardsPerServer(servers, bound));
                row.add(Math.ceil(2 * Math.log(servers) / Math.pow(bound - 1, 2)));
            }
            needed.add(Units.row(row.toArray()));
        }
        report.paragraph("""
                        Shards all alike, each on a server drawn at random: balls in bins. With *k* on each server in the mean, the fullest of
                        *n* has, where *F* is the binomial distribution and servers are taken to be independent (which makes it low by about a
                        percent with 30 servers of 4 shards, and by less with more), and roughly for many shards:
                        """)
                .formula("""
                        E[\\text{imbalance}] = \\frac{1}{k} \\sum_{m \\ge 0} \\left( 1 - F(m)^n \\right)
                        \\approx 1 + \\sqrt{\\frac{2 \\ln n}{k}}, \\quad k \\ge \\frac{2 \\ln n}{(x - 1)^2}
                        """)
                .table(List.of("Servers", "*k*", "Simulated, %d times".formatted(trials), "Formula", "Roughly"), rows)
                .chart("fleet-shards.svg", ballsChart())
                .paragraph("Shards on each server for an imbalance of at most *x*, by the formula and roughly:")
                .table(
                        List.of("Servers", "*x* = 2", "roughly", "1.5", "roughly", "1.2", "roughly", "1.1", "roughly"),
                        needed)
                .paragraph("""
                        **Conclusion:** hashing shards to servers would need %s shards on each of 512 servers for an imbalance of 1.2, of which
                        an id has room for 16; that is why a shard map says where each is: placed in turn, equal shards are even with one each.
                        """.formatted(Units.number(BallsInBins.shardsPerServer(512, 1.2))));
    }

    private LineChart ballsChart() {
        LineChart chart =
                new LineChart("Equal shards on random servers", "shards a server", "fullest server / mean", true, true);
        double[] x = EACH.stream().mapToDouble(Integer::doubleValue).toArray();
        for (int servers : List.of(64, 512)) {
            chart.series(
                    servers + " servers, simulated",
                    x,
                    EACH.stream()
                            .mapToDouble(each -> thrown.getOrDefault(
                                            new BallsInBins(each * servers, servers), new Spread(1, 1, 1))
                                    .median())
                            .toArray());
            chart.series(
                    servers + " servers, formula",
                    x,
                    EACH.stream()
                            .mapToDouble(each -> new BallsInBins(each * servers, servers).imbalance())
                            .toArray());
        }
        return chart;
    }
}
