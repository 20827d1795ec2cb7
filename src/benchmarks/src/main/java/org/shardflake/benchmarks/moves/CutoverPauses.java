/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.shardflake.ShardKey;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.Installation;
import org.shardflake.benchmarks.installation.Photos;
import org.shardflake.benchmarks.moves.CutoverPauses.Writes.Load;
import org.shardflake.benchmarks.moves.MoveComparison.Sizes;
import org.shardflake.benchmarks.moves.RollingProbe.Probe.Pause;
import org.shardflake.benchmarks.moves.WholeMove.CutoverLine;
import org.shardflake.benchmarks.report.Distribution;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;

/**
 * Write pauses of many cutovers under load, and what became of the writes.
 *
 * @param pauses that writers of a shard saw at its cutover, in milliseconds
 * @param without what writers saw in as much time without a cutover, in milliseconds
 * @param said what the command says of the same cutovers, in milliseconds
 * @param attemptsGivenUp that came before a cutover succeeded
 * @param transactions that were acknowledged
 * @param failed transactions, which ended with an exception
 * @param firstFailure the first exception, empty if there was none
 * @param lost writes that were acknowledged and are not there
 * @param doubled rows that are there and were not acknowledged once each
 */
record CutoverPauses(
        Distribution pauses,
        Distribution without,
        Distribution said,
        int attemptsGivenUp,
        long transactions,
        long failed,
        String firstFailure,
        long lost,
        long doubled) {

    private static final int ROWS = 100;
    private static final int WARM_UP_SECONDS = 10;

    static CutoverPauses measure(PostgresCluster cluster, Sizes sizes) throws Exception {
        try (Installation installation = Installation.onFirst(cluster, "pauses", 2, sizes.groupShards())) {
            installation.deploy(Photos.CHANGELOG);
            ShardSet all = ShardSet.range(0, sizes.groupShards() - 1);
            Photos.fill(installation, "db1", all, ROWS);
            installation.checkpoint();
            try (ShardRouter router = installation.router(sizes.loadThreads() + RollingProbe.AHEAD)) {
                return new Measurement(installation, sizes, new Writes(router, sizes.groupShards())).run();
            }
        }
    }

    private static final class Measurement {

        private final Installation installation;
        private final Sizes sizes;
        private final Writes writes;
        private final List<Double> said = new ArrayList<>();
        private int attemptsGivenUp;

        Measurement(Installation installation, Sizes sizes, Writes writes) {
            this.installation = installation;
            this.sizes = sizes;
            this.writes = writes;
        }

        CutoverPauses run() throws Exception {
            List<Pause> pauses;
            List<Pause> without;
            try (Load load = new Load(writes, sizes.groupShards(), sizes.loadThreads(), sizes.loadRestMillis());
                    RollingProbe probe = new RollingProbe(writes)) {
                TimeUnit.SECONDS.sleep(WARM_UP_SECONDS);
                String all = ShardSet.range(0, sizes.groupShards() - 1).toString();
                installation.command().run("move", "start", "--shards", all, "--to", "db2");
                cutOver(probe);
                pauses = probe.pauses();
                without = probe.withoutCutovers(pauses);
                installation.command().run("move", "cutover");
            }
            installation.command().run("move", "complete", "--yes");
            return result(pauses, without);
        }

        /** There and back, until there were enough. */
        private void cutOver(RollingProbe probe) throws Exception {
            boolean there = false;
            for (int left = sizes.cutovers(); left > 0; left -= sizes.groupShards()) {
                int shards = Math.min(left, sizes.groupShards());
                probe.begin(shards);
                // For long enough that every probe has written before the first cutover.
                TimeUnit.MILLISECONDS.sleep(200);
                installation
                        .command()
                        .run(
                                line -> heard(line, probe),
                                "move",
                                there ? "reverse" : "cutover",
                                "--shards",
                                ShardSet.range(0, shards - 1).toString());
                probe.end();
                there = !there;
            }
        }

        private void heard(String line, RollingProbe probe) {
            if (line.contains("gave itself up")) {
                attemptsGivenUp++;
            }
            CutoverLine.parse(line).ifPresent(cutover -> {
                try {
                    probe.ended(cutover.shard());
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new IllegalStateException("interrupted", e);
                }
                said.add(cutover.pauseMillis());
            });
        }

        private CutoverPauses result(List<Pause> pauses, List<Pause> without) throws Exception {
            long lost = 0;
            long doubled = 0;
            for (int shard = 0; shard < sizes.groupShards(); shard++) {
                long difference = Photos.count(installation, "db2", shard) - ROWS - writes.photos(shard);
                lost += Math.max(0, -difference);
                doubled += Math.max(0, difference);
            }
            return new CutoverPauses(
                    millis(pauses),
                    millis(without),
                    Distribution.of(said),
                    attemptsGivenUp,
                    writes.transactions(),
                    writes.failed(),
                    writes.firstFailure(),
                    lost,
                    doubled);
        }

        private static Distribution millis(List<Pause> pauses) {
            return Distribution.of(pauses.stream().map(Pause::longestMillis).toList());
        }
    }

    /** What an application writes through the router, and what of it was acknowledged. Thread-safe. */
    static final class Writes {

        private final ShardRouter router;
        private final AtomicLongArray photos;
        private final AtomicLong transactions = new AtomicLong();
        private final AtomicLong failed = new AtomicLong();
        private volatile String firstFailure = "";

        Writes(ShardRouter router, int shards) {
            this.router = router;
            this.photos = new AtomicLongArray(shards);
        }

        /** Inserts a photo, and says whether that was acknowledged. */
        boolean insert(int shard) {
            return write(shard, tx -> insertPhoto(tx, shard));
        }

        /** Inserts a photo with a tag and changes its title, in one transaction, and says whether that was acknowledged. */
        boolean insertAndChange(int shard) {
            return write(shard, tx -> {
                long id = insertPhoto(tx, shard);
                update(tx, "INSERT INTO %s.tag (photo_id) VALUES (?)", id);
                update(tx, "UPDATE %s.photo SET title = 'changed' WHERE id = ?", id);
                return id;
            });
        }

        private static long insertPhoto(ShardTransaction tx, long uid) throws SQLException {
            try (PreparedStatement insert = tx.connection()
                    .prepareStatement("INSERT INTO %s.photo (uid, title) VALUES (?, 'new') RETURNING id"
                            .formatted(tx.schema()))) {
                insert.setLong(1, uid);
                try (ResultSet row = insert.executeQuery()) {
                    row.next();
                    return row.getLong(1);
                }
            }
        }

        private static void update(ShardTransaction tx, String sql, long id) throws SQLException {
            try (PreparedStatement update = tx.connection().prepareStatement(sql.formatted(tx.schema()))) {
                update.setLong(1, id);
                update.executeUpdate();
            }
        }

        @FunctionalInterface
        private interface Work {
            long run(ShardTransaction tx) throws SQLException;
        }

        private boolean write(int shard, Work work) {
            try {
                // The smallest uid of a shard is its number.
                router.write(ShardKey.uid(shard), work::run);
            } catch (SQLException | RuntimeException e) {
                if (failed.incrementAndGet() == 1) {
                    firstFailure = e.toString();
                }
                return false;
            }
            photos.incrementAndGet(shard);
            transactions.incrementAndGet();
            return true;
        }

        /** How many photos of a shard were acknowledged. */
        long photos(int shard) {
            return photos.get(shard);
        }

        /** How many transactions were acknowledged. */
        long transactions() {
            return transactions.get();
        }

        /** How many transactions ended with an exception. */
        long failed() {
            return failed.get();
        }

        /** The first of these exceptions, empty if there was none. */
        String firstFailure() {
            return firstFailure;
        }

        /** Threads that write transactions of several statements to all shards, until it is closed. */
        static final class Load implements AutoCloseable {

            private final Writes writes;
            private final int shards;
            private final int restMillis;
            private final ExecutorService threads;
            private volatile boolean stopped;

            /** Starts threads, each of which rests after a transaction. */
            Load(Writes writes, int shards, int threads, int restMillis) {
                this.writes = writes;
                this.shards = shards;
                this.restMillis = restMillis;
                this.threads = Executors.newFixedThreadPool(threads);
                for (int i = 0; i < threads; i++) {
                    long seed = i;
                    this.threads.execute(() -> write(new Random(seed)));
                }
            }

            private void write(Random random) {
                try {
                    while (!stopped) {
                        writes.insertAndChange(random.nextInt(shards));
                        TimeUnit.MILLISECONDS.sleep(restMillis);
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }

            /** Waits for the transactions under way. */
            @Override
            public void close() throws InterruptedException {
                stopped = true;
                threads.shutdown();
                if (!threads.awaitTermination(1, TimeUnit.MINUTES)) {
                    throw new IllegalStateException("a transaction has taken longer than a minute");
                }
            }
        }
    }
}
