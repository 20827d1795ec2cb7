/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import org.shardflake.IdLayout;
import org.shardflake.Sharding;
import org.shardflake.benchmarks.report.LineChart;
import org.shardflake.benchmarks.report.Report;

/** When the bits of an id run out: shard, sequence and time. */
final class CapacityPart implements Part {

    private static final double PER_SERVER = 2e12;
    private static final double YEAR = 365.25 * 24 * 3600 * 1000;
    private static final double YEARS = IdLayout.MAX_ELAPSED_MILLIS / YEAR;
    private static final List<Double> GROWTHS = List.of(0.25, 0.5, 1.0, 2.0);
    private static final Capacity CAPACITY = new Capacity(Setting.SHARDS, PER_SERVER);
    private static final int AFTERWARDS = 512_000;
    private static final List<String> EPOCHS =
            List.of("2011-01-01T00:00:00Z", "2015-01-01T00:00:00Z", "2025-01-01T00:00:00Z");

    private final List<Burst> bursts = new ArrayList<>();

    CapacityPart() {
        for (int rate : new int[] {1_000_000, 1_500_000, 2_048_000, 5_120_000}) {
            bursts.add(Burst.simulate(rate, AFTERWARDS));
        }
    }

    private static IdLayout layout(String epoch) {
        return new IdLayout(Instant.parse(epoch).toEpochMilli());
    }

    private static String date(Instant time) {
        return time.atZone(ZoneOffset.UTC).toLocalDate().toString();
    }

    @Override
    public List<Answer> answers() {
        return List.of(
                new Answer(
                        "When 8192 shards are one a server, from %s growing by half a year"
                                .formatted(Units.bytes(Setting.BYTES)),
                        "in %s years".formatted(Units.number(CAPACITY.years(Setting.BYTES, 0.5, 1)))),
                new Answer(
                        "Last ids of the usual epoch",
                        "%s, %s years after %s"
                                .formatted(
                                        date(IdLayout.DEFAULT.expires()),
                                        Units.number(YEARS),
                                        date(IdLayout.DEFAULT.epoch()))));
    }

    @Override
    public void write(Report report) {
        report.section("When the bits run out");
        shards(report);
        sequence(report);
        time(report);
    }

    private static void shards(Report report) {
        List<List<String>> rows = new ArrayList<>();
        for (double growth : GROWTHS) {
            List<Object> row = new ArrayList<>(List.of(Units.percent(growth)));
            for (int each : List.of(16, 4, 1)) {
                row.add(CAPACITY.years(Setting.BYTES, growth, each));
                row.add(CAPACITY.simulated(Setting.BYTES, growth, each));
            }
            rows.add(Units.row(row.toArray()));
        }
        report.paragraph("""
                        **13 bits of shard.** The number of shards never changes, so a fleet ends at one shard a server, and is hard to balance
                        before. **Assumed:** data of *D* = %s grow by the part *g* a year, and a server holds *B* = %s. Years until *M* = 8192
                        shards are *k* on each server; the simulation goes year by year, and says after how many of them more servers would be needed.
                        """.formatted(Units.bytes(Setting.BYTES), Units.bytes(PER_SERVER)))
                .formula("t = \\frac{\\ln (M B / (k D))}{\\ln(1 + g)}")
                .table(
                        List.of(
                                "Growth a year",
                                "16 a server: years",
                                "simulated",
                                "4 a server: years",
                                "simulated",
                                "1 a server: years",
                                "simulated"),
                        rows)
                .chart("fleet-capacity.svg", chart())
                .paragraph("""
                        **Conclusion:** data that double every year leave %s years until the shards are one a server, and %s until they are 16; the
                        usual %s shards leave %s and %s.
                        """.formatted(
                                Units.number(CAPACITY.years(Setting.BYTES, 1, 1)),
                                Units.number(CAPACITY.years(Setting.BYTES, 1, 16)),
                                Units.number(Sharding.DEFAULT_SHARD_COUNT),
                                Units.number(usual().years(Setting.BYTES, 1, 1)),
                                Units.number(usual().years(Setting.BYTES, 1, 16))));
    }

    private static Capacity usual() {
        return new Capacity(Sharding.DEFAULT_SHARD_COUNT, PER_SERVER);
    }

    private void sequence(Report report) {
        report.paragraph("""
                        **10 bits of sequence** are 1024 ids a millisecond for each table of each shard, %s a second; of all 8192 shards %s.
                        Above that the time in the ids runs ahead of the clock, and the clock catches up later; nothing waits and nothing
                        repeats. **Assumed:** *r* ids a second for a second, then %s. The simulation draws each id by the rule of
                        [`next_id`](../guide/ids.md#how-next_id-works), repeated in Java and without the margin for many sessions.
                        """.formatted(
                                Units.number(TickSequence.PER_SECOND),
                                Units.number(TickSequence.PER_SECOND * Setting.SHARDS),
                                Units.number(AFTERWARDS)))
                .formula("""
                        \\text{lead} = d \\left( \\frac{r}{R} - 1 \\right), \\quad
                        \\text{catching up} = \\frac{\\text{lead}}{1 - r'/R}, \\quad R = 1{,}024{,}000 \\text{ ids/s}
                        """)
                .table(
                        List.of(
                                "Ids/s",
                                "Lead in s: simulated",
                                "by the formula",
                                "Catching up in s: simulated",
                                "by the formula"),
                        bursts.stream()
                                .map(burst -> {
                                    double lead = TickSequence.lead(burst.idsPerSecond(), 1);
                                    return Units.row(
                                            burst.idsPerSecond(),
                                            burst.lead(),
                                            lead,
                                            burst.catchUp(),
                                            TickSequence.catchUp(lead, AFTERWARDS));
                                })
                                .toList())
                .paragraph("""
                        **Conclusion:** one table of one shard would have to take more than %s ids a second for longer than readers of the time
                        in ids can bear: a second of twice that puts the time %s s ahead, and if it went on for ever, the ids would end after %s
                        years instead of %s.
                        """.formatted(
                                Units.number(TickSequence.PER_SECOND),
                                Units.number(TickSequence.lead(2 * TickSequence.PER_SECOND, 1)),
                                Units.number(YEARS / 2),
                                Units.number(YEARS)));
    }

    private static void time(Report report) {
        report.paragraph("""
                        **41 bits of time** are 40 without the sign bit, which stays 0: the last millisecond is 2⁴⁰ - 1 after the epoch; after
                        it `next_id` refuses with SQLSTATE `SF002`. An installation chooses its epoch once.
                        """)
                .formula("2^{40} \\text{ ms} = %s \\text{ years}".formatted(Units.number(Math.pow(2, 40) / YEAR)))
                .table(
                        List.of("Epoch", "Last ids", "With the sign bit, which Shardflake does not use"),
                        EPOCHS.stream()
                                .map(epoch -> Units.row(
                                        date(layout(epoch).epoch()),
                                        date(layout(epoch).expires()),
                                        date(layout(epoch).epoch().plusMillis((1L << 41) - 1))))
                                .toList())
                .paragraph("""
                        **Conclusion:** of the three fields time ends first for data that grow by up to %s a year, since the shards then last as
                        long as the %s years of the epoch.
                        """.formatted(Units.percent(growthUntil(YEARS)), Units.number(YEARS)));
    }

    /** The growth a year at which shards are one a server after so many years. */
    private static double growthUntil(double years) {
        return Math.expm1(Math.log(Setting.SHARDS * PER_SERVER / Setting.BYTES) / years);
    }

    private static LineChart chart() {
        LineChart chart = new LineChart(
                "Servers needed, %s each".formatted(Units.bytes(PER_SERVER)), "years", "servers", false, true);
        double[] years = new double[13];
        for (double growth : GROWTHS) {
            double[] servers = new double[years.length];
            for (int i = 0; i < years.length; i++) {
                years[i] = i;
                servers[i] = Math.min(Setting.SHARDS, Setting.BYTES * Math.pow(1 + growth, i) / PER_SERVER);
            }
            chart.series(Units.percent(growth) + " a year", years, servers);
        }
        return chart;
    }
}
