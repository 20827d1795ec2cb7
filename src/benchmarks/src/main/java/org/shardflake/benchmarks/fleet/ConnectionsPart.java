/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.ToDoubleFunction;
import org.shardflake.benchmarks.report.LineChart;
import org.shardflake.benchmarks.report.Report;

/** Connections that applications, poolers and servers need, and what reading from all servers costs. */
final class ConnectionsPart implements Part {

    private static final double TRANSACTIONS = 200_000;
    private static final double SECONDS = 0.005;
    private static final double MAY_WAIT = 0.01;
    private static final int POOL = 10;
    private static final int MAX_CONNECTIONS = 100;
    private static final int SHARDS_A_STATEMENT = 100;
    private static final List<Integer> APPLICATIONS = List.of(10, 50, 200, 1000);

    private final List<Demand> demands = new ArrayList<>();
    private final List<Checked> checked = new ArrayList<>();
    private final List<FanOut> fanOuts = new ArrayList<>();
    private final int requests;

    private record Checked(ErlangC formula, Pool simulated) {}

    private record FanOut(int servers, double simulated) {

        double slow() {
            return -Math.expm1(servers * Math.log1p(-0.01));
        }

        int statements() {
            return servers * (int) Math.ceil((double) Setting.SHARDS / servers / SHARDS_A_STATEMENT);
        }
    }

    /** What a number of applications asks of a number of servers. */
    private record Demand(int applications, int servers) {

        double busy() {
            return TRANSACTIONS * SECONDS / servers;
        }

        int usual() {
            return applications * POOL;
        }

        ErlangC ownPool() {
            return ErlangC.smallest(busy() / applications, MAY_WAIT);
        }

        int direct() {
            return applications * ownPool().connections();
        }

        ErlangC pooled() {
            return ErlangC.smallest(busy(), MAY_WAIT);
        }
    }

    ConnectionsPart(Setting setting) {
        requests = setting.events();
        Random random = setting.random("connections");
        for (int servers : Setting.SERVERS) {
            APPLICATIONS.forEach(applications -> demands.add(new Demand(applications, servers)));
            ErlangC pooled = ErlangC.smallest(TRANSACTIONS * SECONDS / servers, MAY_WAIT);
            check(pooled, random);
            fanOuts.add(new FanOut(servers, slow(servers, random)));
        }
        check(new ErlangC(8, 10), random);
        check(new ErlangC(18, 20), random);
    }

    private void check(ErlangC formula, Random random) {
        checked.add(new Checked(formula, Pool.simulate(formula.load(), formula.connections(), requests, random)));
    }

    /** How many of a number of reads from all servers meet at least one answer of the slowest hundredth. */
    private double slow(int servers, Random random) {
        int reads = Math.max(1, requests / 100);
        int slow = 0;
        for (int read = 0; read < reads; read++) {
            boolean met = false;
            for (int server = 0; server < servers; server++) {
                met |= random.nextDouble() < 0.01;
            }
            slow += met ? 1 : 0;
        }
        return (double) slow / reads;
    }

    private Demand get(int applications, int servers) {
        return demands.stream()
                .filter(demand -> demand.applications() == applications && demand.servers() == servers)
                .findFirst()
                .orElseThrow();
    }

    @Override
    public List<Answer> answers() {
        Demand demand = get(200, 512);
        return List.of(
                new Answer(
                        "Connections of each of 512 servers, 200 applications",
                        "%s with pools of %d; %d with the smallest direct pools that make 1 %% wait; %d behind a pooler: %s times fewer"
                                .formatted(
                                        Units.number(demand.usual()),
                                        POOL,
                                        demand.direct(),
                                        demand.pooled().connections(),
                                        Units.number((double) demand.usual()
                                                / demand.pooled().connections()))),
                new Answer(
                        "Reads from all of 512 servers that meet an answer of a server's slowest 1 %",
                        Units.percent(fanOuts.get(fanOuts.size() - 1).slow())));
    }

    @Override
    public void write(Report report) {
        report.section("Connections")
                .paragraph("""
                        Each of *A* applications has a pool of *P* connections to each of *n* servers, so a server sees *A P*, and an
                        application has *n P*. Busy are, by Little's law, only *a*; *C* is the probability that a transaction waits for a
                        connection of *c* (Erlang's formula for M/M/c), *W* its mean wait, *τ* the time that a transaction holds a connection.
                        **Assumed:** %s transactions a second of the whole fleet, evenly over servers and applications, arriving at random, each
                        holding a connection for %s ms in the mean (exponential), and no more than 1 %% may wait. The pooler is one PgBouncer
                        beside each server, in transaction mode; that the router works through one was not tested here. Moves, `LISTEN` and
                        whatever else needs a session go to the server itself.
                        """.formatted(Units.number(TRANSACTIONS), Units.number(1000 * SECONDS)))
                .formula("""
                        a = \\frac{\\lambda \\tau}{n}, \\quad
                        C(c, a) = \\frac{\\frac{a^c}{c!} \\frac{c}{c - a}}{\\sum_{i=0}^{c-1} \\frac{a^i}{i!} + \\frac{a^c}{c!} \\frac{c}{c - a}}, \\quad
                        W = \\frac{C(c, a)}{c - a} \\tau
                        """)
                .table(
                        List.of(
                                "Servers",
                                "Applications",
                                "Busy on a server, *a*",
                                "Pools of %d: a server's".formatted(POOL),
                                "an application's",
                                "Smallest pool, by Erlang C",
                                "a server's",
                                "Behind a pooler: a server's",
                                "Pools of %d / pooler".formatted(POOL)),
                        demands.stream().map(ConnectionsPart::row).toList())
                .paragraph("PostgreSQL's own `max_connections` is %d. Formula and simulation, %s transactions each:"
                        .formatted(MAX_CONNECTIONS, Units.number(requests)))
                .table(
                        List.of(
                                "Busy, *a*",
                                "Connections, *c*",
                                "Wait: simulated",
                                "*C*",
                                "Mean wait in µs: simulated",
                                "*W*",
                                "99.9 % wait less than, ms"),
                        checked.stream().map(ConnectionsPart::row).toList())
                .chart("fleet-connections.svg", chart())
                .paragraph("""
                        **Reads over all shards** go to every server, so more servers do not relieve them: `newest` sends a statement for each
                        %d shards of a server. If one answer in a hundred is slow, and a read waits for one answer of each of *n* servers, this
                        part of the reads is slow:
                        """.formatted(SHARDS_A_STATEMENT))
                .formula("1 - (1 - 0.01)^n")
                .table(
                        List.of(
                                "Servers",
                                "Statements of one read",
                                "Slow, simulated",
                                "Slow, by the formula",
                                "Part of answers that may be slow for 1 % slow reads"),
                        fanOuts.stream()
                                .map(fanOut -> Units.row(
                                        fanOut.servers(),
                                        fanOut.statements(),
                                        Units.percent(fanOut.simulated()),
                                        Units.percent(fanOut.slow()),
                                        Units.percent(-Math.expm1(Math.log1p(-0.01) / fanOut.servers()))))
                                .toList())
                .paragraph(conclusion());
    }

    private static List<String> row(Demand demand) {
        int pooled = demand.pooled().connections();
        return Units.row(
                demand.servers(),
                demand.applications(),
                demand.busy(),
                demand.usual(),
                demand.servers() * POOL,
                demand.ownPool().connections(),
                demand.direct(),
                pooled,
                (double) demand.usual() / pooled);
    }

    private static List<String> row(Checked checked) {
        ErlangC formula = checked.formula();
        return Units.row(
                formula.load(),
                formula.connections(),
                Units.percent(checked.simulated().waits()),
                Units.percent(formula.waits()),
                checked.simulated().meanWait() * SECONDS * 1e6,
                formula.meanWait() * SECONDS * 1e6,
                formula.waitExceededBy(0.001) * SECONDS * 1e3);
    }

    private String conclusion() {
        Demand demand = get(1000, 512);
        return """
                **Conclusion:** the connections of a server depend on the number of applications, not of servers: with %d applications the
                usual pools are %s on each of 512 servers that has %s busy, so with more than %d applications raise `max_connections` from
                %d, lower `poolSize`, or put a pooler before each server; and keep reads over all shards off the path of a user who waits.
                """.formatted(
                        demand.applications(),
                        Units.number(demand.usual()),
                        Units.number(demand.busy()),
                        MAX_CONNECTIONS / POOL,
                        MAX_CONNECTIONS);
    }

    private LineChart chart() {
        LineChart chart = new LineChart("Connections of one server", "applications", "connections", true, true);
        chart.series("pools of " + POOL, x(), y(64, Demand::usual));
        chart.series("smallest, 64 servers", x(), y(64, Demand::direct));
        chart.series("smallest, 512 servers", x(), y(512, Demand::direct));
        chart.series("pooler, 64 servers", x(), y(64, demand -> demand.pooled().connections()));
        return chart.series(
                "pooler, 512 servers", x(), y(512, demand -> demand.pooled().connections()));
    }

    private static double[] x() {
        return APPLICATIONS.stream().mapToDouble(Integer::doubleValue).toArray();
    }

    private double[] y(int servers, ToDoubleFunction<Demand> figure) {
        return APPLICATIONS.stream()
                .mapToDouble(applications -> figure.applyAsDouble(get(applications, servers)))
                .toArray();
    }
}
