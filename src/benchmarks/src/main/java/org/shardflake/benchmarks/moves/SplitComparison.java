/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.Installation;
import org.shardflake.benchmarks.installation.Photos;
import org.shardflake.benchmarks.moves.WholeMove.CutoverLine;
import org.shardflake.benchmarks.report.Distribution;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.cluster.PostgresStandby;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;

/** Half of a server's shards moved by splitting its standby off, and the other half by copying, under the same load. */
public final class SplitComparison {

    private static final String DATABASE = "split";
    /** What a photo and its tag take in the tables' files, as {@link #fill} makes them. */
    private static final int BYTES_OF_A_PAIR = 1076;

    private final Installation installation;
    private final Writes writes;

    private SplitComparison(Installation installation, Writes writes) {
        this.installation = installation;
        this.writes = writes;
    }

    /** Measures, and prints what it finds. */
    public static void print() throws Exception {
        Sizing sizing = new Sizing("generator-cli,src/benchmarks", "Splits", "splits.");
        int shards = sizing.number("shards", 100, 2);
        int megabytes = sizing.number("megabytes", 10_240);
        int threads = sizing.number("threads", 4);
        int restMillis = sizing.number("rest", 20);
        try (PostgresCluster cluster = Installation.startServers(2);
                Installation installation = Installation.onFirst(cluster, DATABASE, 2, shards);
                ShardRouter router = installation.router(threads)) {
            try (Connection connection = cluster.server(0).connect()) {
                System.out.println(Machine.describe(connection));
            }
            installation.deploy(Photos.CHANGELOG);
            int rows = (int) ((long) megabytes * (1 << 20) / BYTES_OF_A_PAIR / shards);
            fill(installation, shards, rows);
            ShardSet all = ShardSet.range(0, shards - 1);
            System.out.printf("%s of tables%n", Photos.bytes(installation, "db1", all) / (1 << 20) + " MiB");
            PostgresStandby standby = cluster.standbyOf(cluster.server(0));
            standby.awaitReplay();
            Writes writes = new Writes(router, shards);
            SplitComparison comparison = new SplitComparison(installation, writes);
            try (Writes.Load load = new Writes.Load(writes, shards, threads, restMillis)) {
                TimeUnit.SECONDS.sleep(10);
                ShardSet standbys = ShardSet.range(shards / 2, shards - 1);
                double split = comparison.measure(
                        "split",
                        standbys,
                        "server split db1 --standby %s --as db9 --yes --shards %s"
                                .formatted(standby.uri(DATABASE), standbys));
                installation.checkpoint();
                ShardSet copied = ShardSet.range(0, shards / 2 - 1);
                double copy = comparison.measure("copy", copied, "move run --to db2 --shards " + copied);
                System.out.printf("split took %s of copying%n", Figures.number(split / copy));
            }
            comparison.check(rows, standby);
        }
    }

    /** Runs a command; returns the seconds until its last cutover. */
    private double measure(String what, ShardSet shards, String command) throws IOException, InterruptedException {
        long written = writes.transactions();
        long start = System.nanoTime();
        List<Double> pauses = new ArrayList<>();
        double[] last = new double[1];
        double whole = installation
                .command()
                .run(
                        line -> CutoverLine.parse(line).ifPresent(cutover -> {
                            pauses.add(cutover.pauseMillis());
                            last[0] = (System.nanoTime() - start) / 1e9;
                        }),
                        command.split(" "))
                .seconds();
        if (pauses.size() != shards.size()) {
            throw new IllegalStateException("%d cutovers, not %d".formatted(pauses.size(), shards.size()));
        }
        Distribution pause = Distribution.of(pauses);
        System.out.printf(
                "%s: last cutover after %s s, end after %s s; pause p50 %s, p99 %s, max %s ms; %d transactions meanwhile%n",
                what,
                Figures.number(last[0]),
                Figures.number(whole),
                Figures.number(pause.percentile(50)),
                Figures.number(pause.percentile(99)),
                Figures.number(pause.max()),
                writes.transactions() - written);
        return last[0];
    }

    private static void fill(Installation installation, int shards, int rows) throws SQLException {
        try (Connection connection = installation.connect("db1")) {
            Sql.execute(connection, "SET synchronous_commit = off");
            for (int shard = 0; shard < shards; shard++) {
                Sql.execute(connection, """
                        WITH photos AS (
                            INSERT INTO shard_%1$04d.photo (uid, title)
                            SELECT %1$d + %2$d::bigint * n, repeat(md5(n::text), 30) FROM generate_series(1, %3$d) n
                            RETURNING id)
                        INSERT INTO shard_%1$04d.tag (photo_id) SELECT id FROM photos
                        """.formatted(shard, shards, rows));
                Sql.execute(connection, "VACUUM ANALYZE shard_%1$04d.photo, shard_%1$04d.tag".formatted(shard));
            }
        }
    }

    /** Every photo that was acknowledged is there, once. */
    private void check(int rows, PostgresServer standby) throws SQLException {
        long wrong = 0;
        long found = 0;
        try (Connection copied = installation.connect("db2");
                Connection split = standby.connect(DATABASE)) {
            for (int shard = 0; shard < installation.shards(); shard++) {
                long photos = Sql.number(
                        shard < installation.shards() / 2 ? copied : split,
                        "SELECT count(*) FROM shard_%04d.photo".formatted(shard));
                found += photos;
                wrong += Math.abs(photos - rows - writes.photos(shard));
            }
        }
        System.out.printf(
                "%d photos, %d more or fewer than acknowledged; %d transactions, %d failed %s%n",
                found, wrong, writes.transactions(), writes.failed(), writes.firstFailure());
    }
}
