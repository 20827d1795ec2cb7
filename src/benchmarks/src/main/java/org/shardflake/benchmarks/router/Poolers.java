/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sessions;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.cluster.PgBouncer;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.router.ShardRouter;

/** Transactions through the router and a PgBouncer in transaction mode beside the same without one. */
public final class Poolers {

    private static final String DIRECT = "no pooler";
    private static final String UNPREPARED = "?prepareThreshold=0";
    private static final int POOL_SIZE = 16;

    private final int rounds;
    private final int millis;
    private final Map<String, ShardRouter> routers = new LinkedHashMap<>();

    private Poolers(Sizing sizing) {
        rounds = sizing.number("rounds", 41);
        millis = sizing.number("millis", 500);
    }

    /** Measures and prints. */
    public static void print() throws Exception {
        Sizing sizing = new Sizing("src/benchmarks", "Poolers", "poolers.");
        int shards = sizing.number("shards", 20);
        try (PostgresCluster cluster = PostgresCluster.builder()
                        .provider(PostgresProvider.EMBEDDED)
                        .servers(1)
                        .start();
                PgBouncer pooler = PgBouncer.before(
                        cluster.server(0),
                        PgBouncer.keepsPreparedStatements() ? Map.of("max_prepared_statements", "1000") : Map.of())) {
            PhotoServers servers = PhotoServers.prepare(cluster, shards, 20, POOL_SIZE);
            String pooled = pooler.uri(Layout.DATABASE);
            try (ShardRouter direct = router(servers.layout(), Optional.empty());
                    ShardRouter unprepared = router(
                            servers.layout(),
                            Optional.of(servers.layout().servers().get(0).url() + UNPREPARED));
                    ShardRouter through = router(servers.layout(), Optional.of(pooled));
                    ShardRouter throughUnprepared = router(servers.layout(), Optional.of(pooled + UNPREPARED))) {
                Poolers it = new Poolers(sizing);
                it.routers.put(DIRECT, direct);
                it.routers.put("no pooler, nothing prepared", unprepared);
                if (PgBouncer.keepsPreparedStatements()) {
                    it.routers.put("PgBouncer", through);
                }
                it.routers.put("PgBouncer, nothing prepared", throughUnprepared);
                for (int threads : sizing.numbers("threads", List.of(1, POOL_SIZE))) {
                    it.measure(
                            threads,
                            "insert",
                            (router, uid) -> router.write(
                                    uid,
                                    tx -> HandWritten.insert(tx.connection(), tx.schema() + ".photo", uid, "a title")));
                    it.measure(threads, "select", (router, any) -> {
                        long id = servers.photos()
                                .get((int) any % servers.photos().size())
                                .id();
                        router.read(
                                ShardKey.id(id), tx -> HandWritten.select(tx.connection(), tx.schema() + ".photo", id));
                    });
                }
            }
        }
    }

    /** A transaction for a random number. */
    @FunctionalInterface
    private interface Work {
        void run(ShardRouter router, long number) throws Exception;
    }

    private static ShardRouter router(Layout layout, Optional<String> applicationUrl) {
        Server server = layout.servers().get(0);
        return ShardRouter.builder()
                .map(ShardMap.initial(
                        new Sharding(layout.shards()),
                        IdLayout.DEFAULT,
                        List.of(new Server(server.name(), server.url(), applicationUrl, Map.of())),
                        Spread.ROUND_ROBIN))
                .poolSize(layout.poolSize())
                .build();
    }

    private void measure(int threads, String what, Work work) throws Exception {
        Map<String, Rounds.Measurement<Exception>> measured = new LinkedHashMap<>();
        routers.forEach((name, router) -> measured.put(
                name,
                () -> Sessions.perSecond(
                        threads,
                        millis,
                        () -> work.run(router, ThreadLocalRandom.current().nextLong(1_000_000)))));
        Rounds rates = Rounds.run(2, rounds, measured);
        System.out.printf("%s, %d threads, %d rounds of %d ms, a second:%n", what, threads, rounds, millis);
        for (String candidate : rates.candidates()) {
            System.out.printf("    %-30s %-28s %s%n", candidate, rates.of(candidate), rates.ratio(candidate, DIRECT));
        }
    }
}
