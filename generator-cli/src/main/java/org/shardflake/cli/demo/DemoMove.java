/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.demo;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.cli.output.Progress;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.server.MoveServer;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;

/** Moves shards from the first server to the second while threads write to them, and measures the effect on the writers. */
public final class DemoMove {

    private static final int SHARDS = 20;
    private static final int WRITERS = 4;
    private static final long WRITER_PAUSE_MILLIS = 5;

    private final ShardRouter router;
    private final ServerUrl catalog;
    private final List<DemoServer> servers;
    private final Progress.Factory progress;
    private final Queue<Long> acknowledged = new ConcurrentLinkedQueue<>();
    private final AtomicLong errors = new AtomicLong();
    private volatile boolean stopped;
    private volatile boolean probing;

    DemoMove(ShardRouter router, ServerUrl catalog, List<DemoServer> servers, Progress.Factory progress) {
        this.router = router;
        this.catalog = catalog;
        this.servers = servers;
        this.progress = progress;
    }

    /**
     * The result of the move.
     *
     * @param rows rows written during the move and acknowledged
     * @param lost those of them that are not on the server where they must be now
     * @param errors that writers met
     * @param pauses the longest time between two acknowledged writes at each cutover, shortest first
     */
    public record Result(
            String from, String to, int shards, long rows, long lost, long errors, List<Duration> pauses) {}

    Result run() throws SQLException, InterruptedException {
        DemoServer from = servers.get(0);
        DemoServer to = servers.get(1);
        ShardSet moving = ShardSet.of(
                from.shards().subList(0, Math.min(SHARDS, from.shards().size())));
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Duration> pauses = new ArrayList<>();
        try (Progress cuttingOver = progress.start("moving shards under load", moving.size())) {
            List<Future<?>> writers = new ArrayList<>();
            for (int i = 0; i < WRITERS; i++) {
                writers.add(threads.submit(() -> write(moving)));
            }
            Mover mover = new Mover(catalog, this::server, MoveSettings.DEFAULT, MoveListener.NONE);
            Move move = mover.follow(mover.beginOrResume(from.name(), to.name(), moving, "the demo")
                    .id());
            for (int shard : moving.stream().toArray()) {
                pauses.add(cutOver(mover, move, shard, threads));
                cuttingOver.advance(1);
            }
            mover.complete(move.id());
            stopped = true;
            for (Future<?> writer : writers) {
                await(writer);
            }
        } finally {
            threads.shutdownNow();
        }
        return new Result(
                from.name(),
                to.name(),
                moving.size(),
                acknowledged.size(),
                lost(moving),
                errors.get(),
                pauses.stream().sorted().toList());
    }

    private MoveServer server(String name) {
        DemoServer server = servers.stream()
                .filter(its -> its.name().equals(name))
                .findFirst()
                .orElseThrow();
        return new MoveServer(name, server.url());
    }

    private Duration cutOver(Mover mover, Move move, int shard, ExecutorService threads) throws InterruptedException {
        probing = true;
        Future<Duration> longest = threads.submit(() -> probe(shard));
        try {
            mover.cutOver(move.id(), ShardSet.of(shard));
        } finally {
            probing = false;
        }
        return await(longest);
    }

    /** Writes every millisecond; returns the longest time between two acknowledged writes. */
    private Duration probe(int shard) throws InterruptedException {
        long longest = 0;
        insert(shard);
        long last = System.nanoTime();
        while (probing) {
            Thread.sleep(1);
            insert(shard);
            long now = System.nanoTime();
            longest = Math.max(longest, now - last);
            last = now;
        }
        return Duration.ofNanos(longest);
    }

    private boolean write(ShardSet moving) throws InterruptedException {
        int[] shards = moving.stream().toArray();
        while (!stopped) {
            insert(shards[ThreadLocalRandom.current().nextInt(shards.length)]);
            Thread.sleep(WRITER_PAUSE_MILLIS);
        }
        return true;
    }

    private void insert(int shard) {
        try {
            // A uid equal to the number of its shard.
            acknowledged.add(router.write((long) shard, tx -> {
                try (PreparedStatement insert = tx.connection()
                        .prepareStatement(
                                tx.sql(
                                        "INSERT INTO ${shard.schema}.photo (uid, title) VALUES (?, 'taken on the move') RETURNING id"))) {
                    insert.setLong(1, shard);
                    try (ResultSet row = insert.executeQuery()) {
                        row.next();
                        return row.getLong(1);
                    }
                }
            }));
        } catch (SQLException | RuntimeException e) {
            errors.incrementAndGet();
        }
    }

    private long lost(ShardSet moved) throws SQLException {
        ShardMap map = router.map();
        Set<Long> missing = new HashSet<>(acknowledged);
        for (int shard : moved.stream().toArray()) {
            try (Connection connection = server(map.server(shard).name()).url().connect("shardflake demo");
                    Statement statement = connection.createStatement();
                    ResultSet row =
                            statement.executeQuery("SELECT id FROM %s.photo".formatted(Sharding.schema(shard)))) {
                while (row.next()) {
                    missing.remove(row.getLong(1));
                }
            }
        }
        return missing.size();
    }

    private static <T> T await(Future<T> work) throws InterruptedException {
        try {
            return work.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("a writer failed", e.getCause());
        }
    }
}
