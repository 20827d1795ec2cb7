/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.shardflake.IdLayout;
import org.shardflake.Server;
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

    private Poolers() {}

    /** Measures and prints. */
    public static void print() throws Exception {
        Sizing sizing = new Sizing("src/benchmarks", "Poolers", "poolers.");
        boolean prepares = PgBouncer.keepsPreparedStatements();
        try (PostgresCluster cluster = PostgresCluster.builder()
                        .provider(PostgresProvider.EMBEDDED)
                        .servers(1)
                        .start();
                PgBouncer pooler = PgBouncer.before(
                        cluster.server(0), prepares ? Map.of("max_prepared_statements", "1000") : Map.of())) {
            PhotoServers servers = PhotoServers.prepare(cluster, sizing.number("shards", 20), 20, POOL_SIZE);
            Layout layout = servers.layout();
            String pooled = pooler.uri(Layout.DATABASE);
            try (Peer direct = peer(layout, Optional.empty());
                    Peer unprepared =
                            peer(layout, Optional.of(layout.servers().get(0).url() + UNPREPARED));
                    Peer through = peer(layout, Optional.of(pooled));
                    Peer throughUnprepared = peer(layout, Optional.of(pooled + UNPREPARED))) {
                Map<String, Peer> peers = new LinkedHashMap<>();
                peers.put(DIRECT, direct);
                peers.put("no pooler, nothing prepared", unprepared);
                if (prepares) {
                    peers.put("PgBouncer", through);
                }
                peers.put("PgBouncer, nothing prepared", throughUnprepared);
                for (int threads : sizing.numbers("threads", List.of(1, POOL_SIZE))) {
                    for (Operation operation :
                            List.of(Operation.INSERT_IN_TRANSACTION, Operation.SELECT_IN_TRANSACTION)) {
                        measure(sizing, threads, operation, peers, servers);
                    }
                }
            }
        }
    }

    private static Peer peer(Layout layout, Optional<String> applicationUrl) {
        Server server = layout.servers().get(0);
        return new ShardflakeJdbc(ShardRouter.builder()
                .map(ShardMap.initial(
                        new Sharding(layout.shards()),
                        IdLayout.DEFAULT,
                        List.of(new Server(server.name(), server.url(), applicationUrl, Map.of())),
                        Spread.ROUND_ROBIN))
                .poolSize(layout.poolSize())
                .build());
    }

    private static void measure(
            Sizing sizing, int threads, Operation operation, Map<String, Peer> peers, PhotoServers servers)
            throws Exception {
        int millis = sizing.number("millis", 500);
        Map<String, Rounds.Measurement<Exception>> measured = new LinkedHashMap<>();
        peers.forEach((name, peer) ->
                measured.put(name, () -> Sessions.perSecond(threads, millis, () -> operation.run(peer, servers))));
        Rounds rates = Rounds.run(2, sizing.number("rounds", 41), measured);
        System.out.printf(
                "%s, %d threads, transactions a second in rounds of %d ms%n", operation.label(), threads, millis);
        for (String candidate : rates.candidates()) {
            System.out.printf("    %-30s %-28s %s%n", candidate, rates.of(candidate), rates.ratio(candidate, DIRECT));
        }
    }
}
