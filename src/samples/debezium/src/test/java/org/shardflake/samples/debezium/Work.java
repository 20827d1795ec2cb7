/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.debezium;

import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.move.AccountShards;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.MoveStep;
import org.shardflake.move.Mover;
import org.shardflake.move.server.MoveServer;
import org.shardflake.router.ShardRouter;

/** An application that writes to all shards, while shards move between servers, and now and then go back. */
final class Work {

    private static final List<MoveStep> CUTOVER =
            List.of(MoveStep.FENCED, MoveStep.DRAINED, MoveStep.STAGED, MoveStep.SWITCHED);

    private final ShardRouter router;
    private final AccountShards shards;
    private final List<String> servers;
    private final Random random;
    private final @Nullable Consumer<String> crash;
    private int cutovers;
    private int reverses;
    private final AtomicInteger crashes = new AtomicInteger();

    Work(ShardRouter router, AccountShards shards, List<String> servers, Random random) {
        this(router, shards, servers, random, null);
    }

    /** @param crash called in some cutovers, with the server to crash and start again; null for none */
    Work(
            ShardRouter router,
            AccountShards shards,
            List<String> servers,
            Random random,
            @Nullable Consumer<String> crash) {
        this.router = router;
        this.shards = shards;
        this.servers = servers;
        this.random = random;
        this.crash = crash;
    }

    /** Ends with a row in each shard, which {@link PlainDatabase#isComplete} waits for. */
    void run(int rounds, Runnable eachRound) throws Exception {
        AtomicBoolean written = new AtomicBoolean();
        List<CompletableFuture<Void>> writers = List.of(writer(written), writer(written));
        try {
            while (reverses < rounds || cutovers < 3 * rounds) {
                move();
                eachRound.run();
            }
        } finally {
            written.set(true);
        }
        for (CompletableFuture<Void> writer : writers) {
            writer.get(5, TimeUnit.MINUTES);
        }
        for (int shard = 0; shard < PlainDatabase.SHARDS; shard++) {
            int its = shard;
            repeat(() ->
                    write(its, "INSERT INTO ${shard.schema}.account (uid, note) VALUES (%s, 'end')".formatted(its)));
        }
    }

    private void move() throws Exception {
        ShardMap map = shards.catalog().load();
        List<String> sources = servers.stream()
                .filter(server -> !map.shards(map.server(server)).isEmpty())
                .toList();
        String source = sources.get(random.nextInt(sources.size()));
        List<String> targets = new ArrayList<>(servers);
        targets.remove(source);
        String target = targets.get(random.nextInt(targets.size()));
        List<Integer> its =
                new ArrayList<>(map.shards(map.server(source)).stream().boxed().toList());
        Collections.shuffle(its, random);
        ShardSet moving = ShardSet.of(its.subList(0, Math.min(2, its.size())));
        ShardSet back = ShardSet.of(its.get(0));
        MoveStep where = CUTOVER.get(random.nextInt(CUTOVER.size()));
        String victim = random.nextBoolean() ? source : target;
        Consumer<String> crashing = random.nextBoolean() || crashes.get() == 0 ? crash : null;
        AtomicBoolean crashed = new AtomicBoolean();
        Mover mover = new Mover(
                shards.catalogUrl(),
                name -> new MoveServer(name, shards.url(name)),
                MoveSettings.DEFAULT,
                new MoveListener() {
                    @Override
                    public void reached(MoveStep step) {
                        if (crashing != null && step == where && crashed.compareAndSet(false, true)) {
                            crashes.incrementAndGet();
                            // On a thread of its own, since that of the move may be interrupted.
                            CompletableFuture.runAsync(() -> crashing.accept(victim))
                                    .join();
                        }
                    }
                });
        Move move = mover.record(source, target, moving, "a test");
        mover.follow(move.id());
        repeat(() -> mover.cutOver(move.id(), moving));
        repeat(() -> mover.reverse(move.id(), back));
        repeat(() -> mover.cutOver(move.id(), back));
        repeat(() -> mover.complete(move.id()));
        cutovers += moving.size() + 1;
        reverses++;
    }

    @FunctionalInterface
    private interface Step {
        void run() throws Exception;
    }

    /** Again while a server that crashed starts. */
    private static void repeat(Step step) throws Exception {
        for (int attempt = 1; ; attempt++) {
            try {
                step.run();
                return;
            } catch (SQLException | ShardflakeException e) {
                if (attempt == 200) {
                    throw e;
                }
                TimeUnit.MILLISECONDS.sleep(100);
            }
        }
    }

    private CompletableFuture<Void> writer(AtomicBoolean written) {
        long seed = random.nextLong();
        return CompletableFuture.runAsync(() -> {
            Random its = new Random(seed);
            try {
                while (!written.get()) {
                    write(its);
                    TimeUnit.MILLISECONDS.sleep(20); // The consumer is killed again and again, and must not fall back.
                }
            } catch (SQLException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private void write(Random its) throws SQLException {
        String some = "(SELECT id FROM ${shard.schema}.account ORDER BY random() LIMIT 1)";
        int shard = its.nextInt(PlainDatabase.SHARDS);
        try {
            write(
                    shard,
                    switch (its.nextInt(6)) {
                        case 0, 1 ->
                            "INSERT INTO ${shard.schema}.account (uid, note) SELECT %s, 'new' FROM generate_series(1, 3)"
                                    .formatted(shard);
                        case 2 -> "UPDATE ${shard.schema}.account SET balance = balance + 1 WHERE id = " + some;
                        case 3 ->
                            "INSERT INTO ${shard.schema}.tag SELECT id, 'a' FROM ${shard.schema}.account ORDER BY random() LIMIT 1 ON CONFLICT DO NOTHING";
                        case 4 ->
                            "UPDATE ${shard.schema}.tag SET name = 'b' || random() WHERE account_id = (SELECT account_id FROM ${shard.schema}.tag ORDER BY random() LIMIT 1)";
                        default -> "DELETE FROM ${shard.schema}.account WHERE id = " + some;
                    });
        } catch (SQLException | ShardflakeException e) {
            if (crashes.get() == 0) {
                throw e;
            }
        }
    }

    private void write(int shard, String sql) throws SQLException {
        router.run((long) shard, tx -> {
            try (Statement statement = tx.connection().createStatement()) {
                statement.execute(tx.sql(sql));
            }
        });
    }

    @Override
    public String toString() {
        return "%s cutovers, %s reverses, %s crashes of servers".formatted(cutovers, reverses, crashes);
    }
}
