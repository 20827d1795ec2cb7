/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.demo;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import org.shardflake.ShardKey;
import org.shardflake.cli.output.Progress;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;

/** Writes photos of random users, each with a like, through a router. */
final class DemoLoad {

    private static final int PHOTOS_A_BATCH = 5;

    private final ShardRouter router;
    private final Progress.Factory progress;

    DemoLoad(ShardRouter router, Progress.Factory progress) {
        this.router = router;
        this.progress = progress;
    }

    /** The number of rows written, and the seconds taken. */
    record Written(long rows, double seconds) {}

    Written write(List<DemoServer> servers, int rows) throws SQLException, InterruptedException {
        Map<Integer, List<Long>> uidsByShard = randomUids(rows / 2);
        ExecutorService threads = Executors.newFixedThreadPool(servers.size() * DemoSettings.THREADS_PER_SERVER);
        try (Progress writing = progress.start("writing rows", rows / 2 * 2L)) {
            long start = System.nanoTime();
            List<Future<?>> writers = new ArrayList<>();
            for (DemoServer server : servers) {
                for (int thread = 0; thread < DemoSettings.THREADS_PER_SERVER; thread++) {
                    List<Integer> shards = everyNth(server.shards(), thread);
                    writers.add(threads.submit(() -> {
                        writeShards(shards, uidsByShard, writing);
                        return null;
                    }));
                }
            }
            for (Future<?> writer : writers) {
                waitFor(writer);
            }
            return new Written(rows / 2 * 2L, (System.nanoTime() - start) / 1e9);
        } finally {
            threads.shutdownNow();
        }
    }

    private Map<Integer, List<Long>> randomUids(int count) {
        Map<Integer, List<Long>> uidsByShard = new HashMap<>();
        for (int i = 0; i < count; i++) {
            long uid = ThreadLocalRandom.current().nextLong(1, 1_000_000_000);
            uidsByShard
                    .computeIfAbsent(router.map().shardOfUid(uid), shard -> new ArrayList<>())
                    .add(uid);
        }
        return uidsByShard;
    }

    /** The shards of one thread; each shard has one writer, so that the physical order of its rows is their insertion order. */
    private static List<Integer> everyNth(List<Integer> shards, int thread) {
        List<Integer> some = new ArrayList<>();
        for (int i = thread; i < shards.size(); i += DemoSettings.THREADS_PER_SERVER) {
            some.add(shards.get(i));
        }
        return some;
    }

    /** Goes through the shards in cycles, a batch each time, until all uids are written. */
    private void writeShards(List<Integer> shards, Map<Integer, List<Long>> uidsByShard, Progress writing)
            throws SQLException {
        boolean more = true;
        for (int from = 0; more; from += PHOTOS_A_BATCH) {
            more = false;
            for (int shard : shards) {
                List<Long> uids = uidsByShard.getOrDefault(shard, List.of());
                if (from < uids.size()) {
                    List<Long> batch = uids.subList(from, Math.min(from + PHOTOS_A_BATCH, uids.size()));
                    router.run(batch.get(0), tx -> writeBatch(tx, batch));
                    writing.advance(batch.size() * 2L);
                    more = true;
                }
            }
        }
    }

    private static void writeBatch(ShardTransaction tx, List<Long> uids) throws SQLException {
        List<Long> photoIds = new ArrayList<>();
        try (PreparedStatement photo = tx.connection()
                .prepareStatement(
                        tx.sql("INSERT INTO ${shard.schema}.photo (uid, title) VALUES (?, ?)"), new String[] {"id"})) {
            for (long uid : uids) {
                tx.require(ShardKey.uid(uid));
                photo.setLong(1, uid);
                photo.setString(2, "a photo of user " + uid);
                photo.addBatch();
            }
            photo.executeBatch();
            try (ResultSet ids = photo.getGeneratedKeys()) {
                while (ids.next()) {
                    photoIds.add(ids.getLong(1));
                }
            }
        }
        try (PreparedStatement like = tx.connection()
                .prepareStatement(tx.sql("INSERT INTO ${shard.schema}.\"like\" (uid, photo_id) VALUES (?, ?)"))) {
            for (int i = 0; i < uids.size(); i++) {
                like.setLong(1, uids.get(i));
                like.setLong(2, photoIds.get(i));
                like.addBatch();
            }
            like.executeBatch();
        }
    }

    private static void waitFor(Future<?> writer) throws SQLException, InterruptedException {
        try {
            writer.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SQLException sql) {
                throw sql;
            }
            throw new IllegalStateException("a writer failed", e.getCause());
        }
    }
}
