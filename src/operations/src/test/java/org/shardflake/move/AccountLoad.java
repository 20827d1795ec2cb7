/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;

/**
 * Threads that open accounts, book entries, change and delete them through a router, and a journal of what was acknowledged.
 *
 * <p>An account belongs to one thread, so the journal knows exactly what its rows must be. An entry and the balance it changes
 * are written in one transaction.
 */
final class AccountLoad implements AutoCloseable {

    /** What an account and its entries must be. */
    record State(long uid, long balance, String note, Map<UUID, Long> entries) {
        State with(UUID key, long amount) {
            Map<UUID, Long> more = new HashMap<>(entries);
            more.put(key, amount);
            return new State(uid, balance + amount, note, more);
        }

        State without(UUID key) {
            Map<UUID, Long> less = new HashMap<>(entries);
            long amount = Objects.requireNonNull(less.remove(key));
            return new State(uid, balance - amount, note, less);
        }

        State noted(String text) {
            return new State(uid, balance, text, entries);
        }
    }

    private static final int ACCOUNTS_A_THREAD = 40;

    private final ShardRouter router;
    private final int[] shards;
    private final int shardCount;
    private final long pauseMillis;
    private final boolean outages;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Future<?>> running = new ArrayList<>();
    private final Map<Long, State> journal = new ConcurrentHashMap<>();
    private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    private final AtomicLong acknowledged = new AtomicLong();
    private final AtomicLong unknown = new AtomicLong();
    private volatile boolean stopped;

    private AccountLoad(ShardRouter router, ShardSet shards, long pauseMillis, boolean outages) {
        this.router = router;
        this.shards = shards.stream().toArray();
        this.shardCount = router.map().sharding().shardCount();
        this.pauseMillis = pauseMillis;
        this.outages = outages;
    }

    /** Load on which no work may fail. */
    static AccountLoad start(ShardRouter router, ShardSet shards, int threads, long pauseMillis) {
        return new AccountLoad(router, shards, pauseMillis, false).start(threads);
    }

    /** Load while servers are killed: work may fail, and whether it was done is looked up afterwards. */
    static AccountLoad startWithOutages(ShardRouter router, ShardSet shards, int threads, long pauseMillis) {
        return new AccountLoad(router, shards, pauseMillis, true).start(threads);
    }

    private AccountLoad start(int count) {
        for (int i = 0; i < count; i++) {
            int seed = i;
            running.add(threads.submit(() -> new Worker(seed).run()));
        }
        return this;
    }

    /** How many transactions were acknowledged so far. */
    long acknowledged() {
        return acknowledged.get();
    }

    /** How many transactions ended with an outage, so that what became of them had to be looked up. */
    long unknown() {
        return unknown.get();
    }

    Collection<Throwable> failures() {
        return failures;
    }

    /** Waits until so many more transactions were acknowledged than now. */
    void awaitMore(int more) throws InterruptedException {
        long enough = acknowledged() + more;
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
        while (acknowledged() < enough) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError(
                        "no %s transactions in two minutes; first failure: %s".formatted(more, failures.peek()));
            }
            Thread.sleep(5);
        }
    }

    /** Writes one row as part of the load, and returns its id. */
    long open(int shard) throws SQLException {
        long id = router.write((long) shard, tx -> insertAccount(tx, shard));
        journal.put(id, new State(shard, 0, "", Map.of()));
        acknowledged.incrementAndGet();
        return id;
    }

    private static long insertAccount(ShardTransaction tx, long uid) throws SQLException {
        try (PreparedStatement insert = tx.connection()
                .prepareStatement(tx.sql(
                        "INSERT INTO ${shard.schema}.account (uid, balance, note) VALUES (?, 0, '') RETURNING id"))) {
            insert.setLong(1, uid);
            try (ResultSet row = insert.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }

    /** One thread's work. */
    private final class Worker {

        private final Random random;
        private final List<Long> accounts = new ArrayList<>();
        private final Map<Integer, Long> lastIds = new HashMap<>();

        Worker(int seed) {
            random = new Random(seed);
        }

        void run() {
            while (!stopped) {
                try {
                    if (accounts.size() < ACCOUNTS_A_THREAD) {
                        open();
                    } else {
                        change(accounts.get(random.nextInt(accounts.size())));
                    }
                    acknowledged.incrementAndGet();
                    Thread.sleep(pauseMillis);
                } catch (InterruptedException e) {
                    return;
                } catch (Throwable e) {
                    failures.add(e);
                }
            }
        }

        /** An account of an outage may be there or not: it has no entries and a note of its own to be found by. */
        private void open() throws SQLException, InterruptedException {
            int shard = shards[random.nextInt(shards.length)];
            long uid = shard + (long) shardCount * random.nextInt(1_000_000);
            long id;
            try {
                id = router.write(uid, tx -> insertAccount(tx, uid));
            } catch (RuntimeException | SQLException e) {
                if (!outages) {
                    throw e;
                }
                unknown.incrementAndGet();
                awaitService(uid);
                // Nobody was told its id, so it is not this thread's to answer for.
                return;
            }
            Long last = lastIds.put(shard, id);
            if (last != null && id <= last) {
                failures.add(new AssertionError("id %s was drawn after %s in shard %s".formatted(id, last, shard)));
            }
            journal.put(id, new State(uid, 0, "", Map.of()));
            accounts.add(id);
        }

        private void change(long id) throws SQLException, InterruptedException {
            State before = Objects.requireNonNull(journal.get(id));
            switch (random.nextInt(8)) {
                case 0 -> {
                    String note = "note " + random.nextInt();
                    change(
                            id,
                            before,
                            before.noted(note),
                            tx -> update(
                                    tx,
                                    "SELECT 1 FROM ${shard.schema}.account WHERE id = %s FOR UPDATE; UPDATE ${shard.schema}.account SET note = '%s' WHERE id = %s"
                                            .formatted(id, note, id)));
                }
                case 1 -> {
                    change(
                            id,
                            before,
                            null,
                            tx -> update(tx, "DELETE FROM ${shard.schema}.account WHERE id = %s".formatted(id)));
                }
                case 2, 3 -> {
                    if (!before.entries().isEmpty()) {
                        UUID key = before.entries().keySet().iterator().next();
                        change(
                                id,
                                before,
                                before.without(key),
                                tx -> update(
                                        tx,
                                        "UPDATE ${shard.schema}.account SET balance = balance - (SELECT amount FROM ${shard.schema}.entry WHERE key = '%s') WHERE id = %s; DELETE FROM ${shard.schema}.entry WHERE key = '%s'"
                                                .formatted(key, id, key)));
                    }
                }
                default -> {
                    UUID key = new UUID(random.nextLong(), random.nextLong());
                    long amount = random.nextInt(1000);
                    change(
                            id,
                            before,
                            before.with(key, amount),
                            tx -> update(
                                    tx,
                                    "INSERT INTO ${shard.schema}.entry (account_id, amount, key) VALUES (%s, %s, '%s'); UPDATE ${shard.schema}.account SET balance = balance + %s WHERE id = %s; INSERT INTO ${shard.schema}.tag VALUES (%s, 'booked') ON CONFLICT DO NOTHING"
                                            .formatted(id, amount, key, amount, id, id)));
                }
            }
        }

        private void change(long id, State before, @Nullable State after, Step step)
                throws SQLException, InterruptedException {
            State now = after;
            try {
                router.run(before.uid(), tx -> step.run(tx));
            } catch (RuntimeException | SQLException e) {
                if (!outages) {
                    throw e;
                }
                unknown.incrementAndGet();
                now = lookUp(id, before, after);
            }
            if (now == null) {
                journal.remove(id);
                accounts.remove(id);
            } else {
                journal.put(id, now);
            }
        }

        /** What an account is after work whose outcome is not known: as before, or as after. */
        private @Nullable State lookUp(long id, State before, @Nullable State after) throws InterruptedException {
            State found = whenServed(() -> router.write(before.uid(), tx -> read(tx, id)))
                    .orElse(null);
            if (!Objects.equals(found, before) && !Objects.equals(found, after)) {
                failures.add(
                        new AssertionError("account %s is %s, neither %s nor %s".formatted(id, found, before, after)));
            }
            return found;
        }

        private void awaitService(long uid) throws InterruptedException {
            whenServed(() -> router.write(uid, tx -> {
                update(tx, "UPDATE ${shard.schema}.account SET note = note WHERE id = 0");
                return true;
            }));
        }

        private <T> T whenServed(Callable<T> work) throws InterruptedException {
            for (int attempt = 1; ; attempt++) {
                try {
                    return work.call();
                } catch (Exception e) {
                    if (attempt == 6000) {
                        throw new IllegalStateException("not served for five minutes", e);
                    }
                    Thread.sleep(50);
                }
            }
        }
    }

    @FunctionalInterface
    private interface Step {
        void run(ShardTransaction tx) throws SQLException;
    }

    private static void update(ShardTransaction tx, String sql) throws SQLException {
        try (var statement = tx.connection().createStatement()) {
            statement.execute(tx.sql(sql));
        }
    }

    private static Optional<State> read(ShardTransaction tx, long id) throws SQLException {
        return Optional.ofNullable(
                readAll(tx.connection(), Sharding.schema(tx.shard()), id).get(id));
    }

    private static Map<Long, State> readAll(Connection connection, String schema, long id) throws SQLException {
        Map<Long, Map<UUID, Long>> entries = new HashMap<>();
        String only = id == 0 ? "" : " WHERE account_id = " + id;
        Sql.list(
                connection,
                "SELECT account_id, key, amount FROM %s.entry%s".formatted(schema, only),
                row -> entries.computeIfAbsent(row.getLong(1), account -> new HashMap<>())
                        .put((UUID) row.getObject(2), row.getLong(3)));
        Map<Long, State> states = new HashMap<>();
        Sql.list(
                connection,
                "SELECT id, uid, balance, note FROM %s.account%s".formatted(schema, id == 0 ? "" : " WHERE id = " + id),
                row -> states.put(
                        row.getLong(1),
                        new State(
                                row.getLong(2),
                                row.getLong(3),
                                row.getString(4),
                                entries.getOrDefault(row.getLong(1), Map.of()))));
        return states;
    }

    /** Compares every row of every shard, where the map has it, with the journal: what is wrong, one line each. */
    List<String> compare(AccountShards installation) throws SQLException {
        List<String> wrong = new ArrayList<>();
        Map<Long, State> expected = new HashMap<>(journal);
        Map<UUID, Long> keys = new HashMap<>();
        var map = installation.catalog().load();
        for (int shard : shards) {
            try (Connection connection =
                    installation.database(map.server(shard).name()).connect()) {
                readAll(connection, Sharding.schema(shard), 0).forEach((id, found) -> {
                    State state = expected.remove(id);
                    if (state == null && !(outages && found.entries().isEmpty())) {
                        wrong.add("account %s is there and must not be: %s".formatted(id, found));
                    } else if (state != null && !state.equals(found)) {
                        wrong.add("account %s is %s and must be %s".formatted(id, found, state));
                    }
                    found.entries().keySet().forEach(key -> {
                        if (keys.put(key, id) != null) {
                            wrong.add("entry %s appears twice".formatted(key));
                        }
                    });
                });
            }
        }
        expected.forEach((id, state) -> wrong.add("account %s is lost: %s".formatted(id, state)));
        return wrong;
    }

    /** Stops the threads; all acknowledged work is known then. */
    @Override
    public void close() {
        stopped = true;
        try {
            for (Future<?> thread : running) {
                thread.get(120, TimeUnit.SECONDS);
            }
        } catch (Exception e) {
            throw new AssertionError("a writer did not end", e);
        } finally {
            threads.shutdownNow();
        }
    }
}
