/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.ObjIntConsumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.router.exception.AuthenticationFailedException;
import org.shardflake.router.exception.InterruptedWorkException;
import org.shardflake.router.exception.PoolExhaustedException;
import org.shardflake.router.exception.ScatterException;
import org.shardflake.router.exception.ServerUnavailableException;
import org.shardflake.router.health.ServerHealth;
import org.shardflake.router.internal.pool.Access;
import org.shardflake.router.internal.pool.Routes;
import org.shardflake.router.internal.pool.ServerPool;
import org.shardflake.router.internal.session.CancellableConnection;
import org.shardflake.router.internal.session.LeasedConnection;
import org.shardflake.router.internal.session.RunningReads;

/** Reads many shards, with a task per server or, for a scatter, per shard. Thread-safe. */
final class ManyShards implements AutoCloseable {

    private static final int PROBE_TIMEOUT_SECONDS = 5;

    private final ShardExecutor executor;
    private final ExecutorService threads;
    private final boolean ownsThreads;
    private final StatementCache texts = new StatementCache();

    ManyShards(ShardExecutor executor, @Nullable ExecutorService threads) {
        this.executor = executor;
        this.ownsThreads = threads == null;
        this.threads = threads != null
                ? threads
                : Executors.newCachedThreadPool(work -> RunningReads.daemon(work, "shardflake-read"));
    }

    <T> Map<Long, T> fetch(Collection<Long> ids, ShardQuery<T> query) {
        Set<Long> asked = new LinkedHashSet<>(ids);
        ShardMap map = executor.map();
        Map<Integer, List<Long>> idsByShard = new TreeMap<>();
        for (long id : asked) {
            idsByShard
                    .computeIfAbsent(map.shardOfId(id), shard -> new ArrayList<>())
                    .add(id);
        }
        IdLookUp<T> lookUp = new IdLookUp<>(query, idsByShard);
        Map<Long, T> found = new HashMap<>();
        readShards(idsByShard.keySet(), query, lookUp::read).forEach(found::putAll);

        Map<Long, T> inOrder = new LinkedHashMap<>();
        for (long id : asked) {
            T row = found.get(id);
            if (row != null) {
                inOrder.put(id, row);
            }
        }
        return inOrder;
    }

    <T> List<T> newest(long before, int limit, ShardQuery<T> query) {
        if (limit < 1) {
            throw new IllegalArgumentException("limit is %s, allowed: 1 or more".formatted(limit));
        }
        NewestRows<T> newest = new NewestRows<>(texts, query, before, limit);
        readShards(shards(query), query, newest::read);
        return newest.inOrder();
    }

    /**
     * The shards that a query reads.
     *
     * @throws org.shardflake.ShardOutOfRangeException if it names one that there is not
     */
    private List<Integer> shards(ShardQuery<?> query) {
        ShardMap map = executor.map();
        ShardSet some = query.shards();
        if (some == null) {
            return IntStream.range(0, map.sharding().shardCount()).boxed().toList();
        }
        some.stream().forEach(map::server);
        return some.stream().boxed().toList();
    }

    long count(ShardQuery<?> query) {
        return total("pg_catalog.count(*)", query)
                .map(BigDecimal::longValueExact)
                .orElse(0L);
    }

    Optional<BigDecimal> sum(String value, ShardQuery<?> query) {
        return total("pg_catalog.sum(" + value + ")", query);
    }

    /** The sum of an aggregate's values over all shards; empty if it is null in all of them. */
    private Optional<BigDecimal> total(String aggregate, ShardQuery<?> query) {
        UnionOfShards union = new UnionOfShards(
                texts,
                query,
                rows -> "SELECT " + aggregate + " AS value FROM " + rows,
                arms -> "SELECT pg_catalog.sum(value) FROM " + arms + " AS shards",
                List.of());
        return readShards(
                        shards(query),
                        query,
                        (connection, some) ->
                                union.read(connection, some, row -> Optional.ofNullable(row.getBigDecimal(1))))
                .stream()
                .flatMap(List::stream)
                .flatMap(Optional::stream)
                .reduce(BigDecimal::add);
    }

    /** The first rows in an order, or the next ones after a given row. */
    <T> List<T> top(int limit, RowOrder<T> order, @Nullable T after, ShardQuery<T> query) {
        if (limit < 1) {
            throw new IllegalArgumentException("limit is %s, allowed: 1 or more".formatted(limit));
        }
        String best = " ORDER BY %s LIMIT %s".formatted(order.sql(), limit);
        // PostgreSQL merges the arms' indexes by itself if they are columns of tables. It would sort all rows of a
        // join.
        String each = (after == null ? "" : " WHERE " + order.isAfter()) + (query.isColumnsOfATable() ? "" : best);
        UnionOfShards union = new UnionOfShards(
                texts,
                query,
                rows -> "SELECT * FROM " + rows + each,
                arms -> "SELECT * FROM " + arms + " AS shards" + best,
                after == null ? List.of() : order.valuesOf(after));
        return readShards(shards(query), query, (connection, some) -> union.read(connection, some, query.mapper()))
                .stream()
                .flatMap(List::stream)
                .sorted(order.comparator())
                .limit(limit)
                .toList();
    }

    <T> void forEach(ShardQuery<T> query, Consumer<? super T> action) {
        EachRow<T> each = new EachRow<>(query, action);
        try {
            readShards(shards(query), query, each::read);
        } catch (ScatterException e) {
            RuntimeException own = each.failure();
            throw own == null ? e : own;
        } finally {
            each.end();
        }
    }

    <T> List<UnreadShards> forEachRow(ShardQuery<T> query, ObjIntConsumer<? super T> action) {
        EachRowOfShards<T> each = new EachRowOfShards<>(query, action);
        List<UnreadShards> failed = new ArrayList<>();
        long end = System.nanoTime() + query.deadline().toNanos();
        List<Integer> left = shards(query);
        try {
            // Again for those that moved away before their turn came.
            while (!left.isEmpty()) {
                Failures failures = (pool, some, failure) -> {
                    if (each.failure() != null || !query.collectsFailures()) {
                        throw failure;
                    }
                    failed.add(new UnreadShards(pool.server().name(), ShardSet.of(each.unread(some)), failure));
                };
                readShards(
                        left,
                        query,
                        end,
                        (connection, pool, some) -> each.read(
                                connection,
                                some,
                                shard -> executor.routes().pool(shard).equals(pool)),
                        failures);
                left = each.unread(left).stream()
                        .filter(shard -> failed.stream()
                                .noneMatch(unread -> unread.shards().contains(shard)))
                        .toList();
            }
        } catch (RuntimeException e) {
            RuntimeException own = each.failure();
            throw own == null ? e : own;
        } finally {
            each.end();
        }
        return failed;
    }

    /** Reads some shards of one server. */
    @FunctionalInterface
    private interface ServerRead<R> {
        R run(CancellableConnection connection, List<Integer> shards) throws SQLException;
    }

    /** Reads some shards of one server, with access to the server's pool. */
    @FunctionalInterface
    private interface PoolRead<R> {
        R run(CancellableConnection connection, ServerPool pool, List<Integer> shards) throws SQLException;
    }

    /** Handles the failure of a server's shards: throws it or records it. */
    @FunctionalInterface
    private interface Failures {
        void of(ServerPool pool, List<Integer> shards, RuntimeException failure);
    }

    private <R> List<R> readShards(Collection<Integer> shards, ShardQuery<?> query, ServerRead<R> read) {
        return readShards(
                shards,
                query,
                System.nanoTime() + query.deadline().toNanos(),
                (connection, pool, some) -> read.run(connection, some),
                (pool, some, failure) -> {
                    throw failure;
                });
    }

    /** Reads shards, a task per server; those that have moved are read again on their new server. */
    private <R> List<R> readShards(
            Collection<Integer> shards, ShardQuery<?> query, long end, PoolRead<R> read, Failures failures) {
        Retry retry = executor.newRetry();
        List<R> results = new ArrayList<>();
        Collection<Integer> left = shards;
        while (!left.isEmpty()) {
            Routes routes = executor.routes();
            Map<ServerPool, List<Integer>> shardsByPool = new LinkedHashMap<>();
            left.forEach(shard -> shardsByPool
                    .computeIfAbsent(routes.pool(shard), pool -> new ArrayList<>())
                    .add(shard));
            RunningReads reads = new RunningReads();
            Map<ServerPool, Future<R>> running = new LinkedHashMap<>();
            shardsByPool.forEach((pool, some) -> running.put(pool, threads.submit(() -> {
                try (LeasedConnection connection = pool.connection(query.access(), LeasedConnection.MANY_SHARDS)) {
                    connection.reads(query.template(), some);
                    return read.run(new CancellableConnection(connection, reads), pool, some);
                }
            })));
            try {
                left = collect(running, shardsByPool, routes, query, end, retry, results, failures);
            } finally {
                giveUp(running.values(), reads);
            }
        }
        return results;
    }

    /** Waits for the servers' results, and returns the shards without one because they have moved. */
    private static <R> List<Integer> collect(
            Map<ServerPool, Future<R>> running,
            Map<ServerPool, List<Integer>> shardsByPool,
            Routes routes,
            ShardQuery<?> query,
            long end,
            Retry retry,
            List<R> results,
            Failures failures) {
        List<Integer> moved = new ArrayList<>();
        running.forEach((pool, task) -> {
            List<Integer> some = shardsByPool.getOrDefault(pool, List.of());
            try {
                results.add(task.get(end - System.nanoTime(), TimeUnit.NANOSECONDS));
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof Exception failure)) {
                    throw new IllegalStateException("a read failed", e.getCause());
                }
                if (!(failure instanceof ScatterException)
                        && retry.againRead(failure, routes.map(), () -> pool.lacks(some, false))) {
                    moved.addAll(some);
                } else {
                    failures.of(pool, some, asServerFailure(pool, failure));
                }
            } catch (TimeoutException e) {
                failures.of(
                        pool,
                        some,
                        ScatterException.late("the read", pool.server().name(), query.deadline()));
            } catch (InterruptedException e) {
                throw new InterruptedWorkException("a read over many shards", e);
            }
        });
        return moved;
    }

    /** Cancels reads that still run after the deadline or a failure, without waiting for them, as a server may not answer. */
    private static void giveUp(Collection<? extends Future<?>> tasks, RunningReads reads) {
        if (tasks.stream().allMatch(Future::isDone)) {
            return;
        }
        tasks.forEach(task -> task.cancel(true)); // A task may still be waiting for a connection.
        RunningReads.daemon(reads::cancel, "shardflake-cancel").start();
    }

    private static RuntimeException asServerFailure(ServerPool pool, Exception failure) {
        return failure instanceof ServerUnavailableException
                        || failure instanceof AuthenticationFailedException
                        || failure instanceof PoolExhaustedException
                ? (RuntimeException) failure
                : ScatterException.ofServer(pool.server().name(), failure);
    }

    <T, X extends Exception> Stream<ShardResult<T>> scatter(Scatter scatter, ShardWork<T, X> work) {
        return new ScatterRun<>(executor, scatter, work).start(threads);
    }

    List<ServerHealth> probe(List<ServerPool> pools) {
        List<Future<ServerHealth>> probes =
                pools.stream().map(pool -> threads.submit(() -> probe(pool))).toList();
        List<ServerHealth> health = new ArrayList<>();
        for (Future<ServerHealth> probe : probes) {
            try {
                health.add(probe.get());
            } catch (ExecutionException e) {
                throw new IllegalStateException("a probe failed", e.getCause());
            } catch (InterruptedException e) {
                throw new InterruptedWorkException("the servers' health", e);
            }
        }
        return health;
    }

    private static ServerHealth probe(ServerPool pool) {
        long start = System.nanoTime();
        Optional<String> problem = Optional.empty();
        try (Connection connection = pool.connection(Access.READ, LeasedConnection.MANY_SHARDS)) {
            if (!connection.isValid(PROBE_TIMEOUT_SECONDS)) {
                problem = Optional.of("no answer within %s s".formatted(PROBE_TIMEOUT_SECONDS));
            }
        } catch (SQLException | RuntimeException e) {
            problem = Optional.of(String.valueOf(e.getMessage()));
        }
        return new ServerHealth(pool.server().name(), Duration.ofNanos(System.nanoTime() - start), problem);
    }

    @Override
    public void close() {
        if (ownsThreads) {
            threads.shutdownNow();
        }
    }
}
