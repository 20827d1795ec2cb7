/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.Installation;
import org.shardflake.benchmarks.installation.Photos;
import org.shardflake.benchmarks.moves.RollingProbe.Probe.Pause;
import org.shardflake.benchmarks.moves.Writes.Load;
import org.shardflake.benchmarks.report.Distribution;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.cluster.ManagedRole;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.router.ShardRouter;

/** Write pauses of cutovers by roles that are no superuser beside those by one, in turn on the same servers. */
public final class RolePauses {

    private static final String SUPERUSER = "superuser";
    private static final int WARM_UP_SECONDS = 3;
    private static final int ROWS = 100;

    private RolePauses() {}

    /** Measures and prints. */
    public static void print() throws Exception {
        MoveSizes sizes = MoveSizes.of(new Sizing("generator-cli,src/benchmarks", "MoveRoles", "moves."));
        ManagedRole rds = ManagedRole.RDS;
        ManagedRole cloudSql = ManagedRole.CLOUDSQL;
        try (PostgresCluster cluster = Installation.startServers(2);
                Side superuser = new Side(cluster, "by_superuser", sizes, Optional.empty());
                Side likeRds = new Side(cluster, "by_rds", sizes, Optional.of(rds));
                Side likeCloudSql = new Side(cluster, "by_cloudsql", sizes, Optional.of(cloudSql))) {
            Map<String, Side> sides = new LinkedHashMap<>();
            sides.put(SUPERUSER, superuser);
            sides.put(rds.user(), likeRds);
            sides.put(cloudSql.user(), likeCloudSql);
            // The first turn is the first of the move too.
            Rounds medians = Rounds.run(1, sizes.rounds(), sides);
            print(sides, medians);
            for (Side side : sides.values()) {
                side.complete();
            }
        }
    }

    private static void print(Map<String, Side> sides, Rounds medians) {
        System.out.printf(
                "%-16s %9s %8s %8s %8s %8s  %s%n",
                "role", "cutovers", "p50 ms", "p99 ms", "worst ms", "failed", "p50 by a superuser's");
        sides.forEach((role, side) -> {
            Distribution pauses = Pause.millis(side.pauses);
            System.out.printf(
                    "%-16s %9d %8.1f %8.1f %8.1f %8d  %s%n",
                    role,
                    pauses.size(),
                    pauses.percentile(50),
                    pauses.percentile(99),
                    pauses.max(),
                    side.writes.failed(),
                    medians.ratio(role, SUPERUSER));
        });
    }

    /** An installation of one role, with a move of all its shards under way. */
    private static final class Side implements Rounds.Measurement<Exception>, AutoCloseable {

        private final MoveSizes sizes;
        private final Installation installation;
        private final ShardRouter router;
        private final Writes writes;
        private final CutoverTurns cutovers;
        private final List<Pause> pauses = new ArrayList<>();

        Side(PostgresCluster cluster, String database, MoveSizes sizes, Optional<ManagedRole> role) throws Exception {
            this.sizes = sizes;
            int shards = sizes.groupShards();
            installation = Installation.onFirst(cluster, database, 2, shards, role);
            installation.deploy(Photos.CHANGELOG);
            Photos.fill(installation, "db1", ShardSet.range(0, shards - 1), ROWS);
            router = installation.router(sizes.loadThreads() + RollingProbe.AHEAD);
            writes = new Writes(router, shards);
            cutovers = new CutoverTurns(installation);
            cutovers.startMove(shards);
        }

        /** Cuts all shards over under load; the median of their pauses, in milliseconds. */
        @Override
        public double measure() throws Exception {
            try (Load load = new Load(writes, sizes.groupShards(), sizes.loadThreads(), sizes.loadRestMillis());
                    RollingProbe probe = new RollingProbe(writes)) {
                TimeUnit.SECONDS.sleep(WARM_UP_SECONDS);
                cutovers.turn(sizes.groupShards(), probe);
                pauses.addAll(probe.pauses());
                return Pause.millis(probe.pauses()).percentile(50);
            }
        }

        void complete() throws Exception {
            installation.command().run("move", "cutover");
            installation.command().run("move", "complete", "--yes");
        }

        @Override
        public void close() throws Exception {
            router.close();
            installation.close();
        }
    }
}
