/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

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
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;

/** Reads many shards, with a task per server or, for a scatter, per shard. Thread-safe. */
final class ManyShards implements AutoCloseable {

    private static final int PROBE_TIMEOUT_SECONDS = 5;

    private final ShardRouter router;
    private final ExecutorService executor;
    private final boolean ownsExecutor;
    private final StatementTexts texts = new StatementTexts();

    ManyShards(ShardRouter router, @Nullable ExecutorService executor) {
        this.router = router;
        this.ownsExecutor = executor == null;
        this.executor =
                executor != null ? executor : Executors.newCachedThreadPool(work -> daemon(work, "shardflake-read"));
    }

    static Thread daemon(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        return thread;
    }

    <T> Map<Long, T> fetch(Collection<Long> ids, ShardQuery<T> query) {
        Set<Long> asked = new LinkedHashSet<>(ids);
        ShardMap map = router.map();
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
            throw new IllegalArgumentException("limit is %d, allowed: 1 or more".formatted(limit));
        }
        List<Integer> all =
                IntStream.range(0, router.map().sharding().shardCount()).boxed().toList();
        NewestRows<T> newest = new NewestRows<>(texts, query, before, limit);
        readShards(all, query, newest::read);
        return newest.inOrder();
    }

    /** Reads some shards of one server. */
    @FunctionalInterface
    private interface ServerRead<R> {
        R run(CancellableConnection connection, List<Integer> shards) throws SQLException;
    }

    /** Reads shards, a task per server; those that moved meanwhile are read again on their new server. */
    private <R> List<R> readShards(Collection<Integer> shards, ShardQuery<?> query, ServerRead<R> read) {
        long end = System.nanoTime() + query.deadline().toNanos();
        Retry retry = router.newRetry();
        List<R> results = new ArrayList<>();
        Collection<Integer> left = shards;
        while (!left.isEmpty()) {
            Routes routes = router.routes();
            Map<ServerPool, List<Integer>> shardsByPool = new LinkedHashMap<>();
            left.forEach(shard -> shardsByPool
                    .computeIfAbsent(routes.pool(shard), pool -> new ArrayList<>())
                    .add(shard));
            RunningReads reads = new RunningReads();
            Map<ServerPool, Future<R>> running = new LinkedHashMap<>();
            shardsByPool.forEach((pool, some) -> running.put(pool, executor.submit(() -> {
                try (LentConnection connection = pool.connection(query.access(), LentConnection.MANY_SHARDS)) {
                    return read.run(new CancellableConnection(connection, reads), some);
                }
            })));
            try {
                left = collect(running, shardsByPool, routes, query, end, retry, results);
            } finally {
                giveUp(running.values(), reads);
            }
        }
        return results;
    }

    /** Waits for the servers' results, and returns the shards that have none since they moved. */
    private static <R> List<Integer> collect(
            Map<ServerPool, Future<R>> running,
            Map<ServerPool, List<Integer>> shardsByPool,
            Routes routes,
            ShardQuery<?> query,
            long end,
            Retry retry,
            List<R> results) {
        List<Integer> moved = new ArrayList<>();
        running.forEach((pool, task) -> {
            try {
                results.add(task.get(end - System.nanoTime(), TimeUnit.NANOSECONDS));
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof Exception failure)) {
                    throw new IllegalStateException("a read failed", e.getCause());
                }
                List<Integer> some = shardsByPool.getOrDefault(pool, List.of());
                if (!retry.againRead(failure, routes.map(), () -> pool.lacks(some))) {
                    throw asServerFailure(pool, failure);
                }
                moved.addAll(some);
            } catch (TimeoutException e) {
                throw ScatterException.late("the read", pool.server().name(), query.deadline());
            } catch (InterruptedException e) {
                throw new InterruptedWorkException("a read over many shards", e);
            }
        });
        return moved;
    }

    /** Cancels what still runs after the deadline or a failure, without waiting for it, as a server may not answer. */
    private static void giveUp(Collection<? extends Future<?>> tasks, RunningReads reads) {
        if (tasks.stream().allMatch(Future::isDone)) {
            return;
        }
        tasks.forEach(task -> task.cancel(true)); // A task may still be waiting for a connection.
        daemon(reads::cancel, "shardflake-cancel").start();
    }

    private static RuntimeException asServerFailure(ServerPool pool, Exception failure) {
        return failure instanceof ServerUnavailableException
                        || failure instanceof AuthenticationFailedException
                        || failure instanceof PoolExhaustedException
                ? (RuntimeException) failure
                : ScatterException.ofServer(pool.server().name(), failure);
    }

    <T, X extends Exception> Stream<ShardResult<T>> scatter(Scatter scatter, ShardWork<T, X> work) {
        return new ScatterRun<>(router, scatter, work).start(executor);
    }

    List<ServerHealth> probe(List<ServerPool> pools) {
        List<Future<ServerHealth>> probes =
                pools.stream().map(pool -> executor.submit(() -> probe(pool))).toList();
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
        try (Connection connection = pool.connection(Access.READ, LentConnection.MANY_SHARDS)) {
            if (!connection.isValid(PROBE_TIMEOUT_SECONDS)) {
                problem = Optional.of("no answer within %d s".formatted(PROBE_TIMEOUT_SECONDS));
            }
        } catch (SQLException | RuntimeException e) {
            problem = Optional.of(String.valueOf(e.getMessage()));
        }
        return new ServerHealth(pool.server().name(), Duration.ofNanos(System.nanoTime() - start), problem);
    }

    @Override
    public void close() {
        if (ownsExecutor) {
            executor.shutdownNow();
        }
    }
}
