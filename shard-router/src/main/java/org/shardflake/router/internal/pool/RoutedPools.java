/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.pool;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.router.internal.map.MapSource;
import org.shardflake.router.internal.session.OldDatabase;

/** The routes in use and their pools: follows changes of the map, counts running work, and closes once it has finished. Thread-safe. */
public final class RoutedPools implements AutoCloseable {

    private static final long LOOK_FOR_WORK_MILLIS = 10;

    private final MapSource maps;
    private final PoolSettings settings;
    private final Duration drainTimeout;
    private final Duration closeTimeout;
    private final LongAdder running = new LongAdder();
    private final ReentrantLock changingRoutes = new ReentrantLock();
    private final Set<ServerPool> draining = ConcurrentHashMap.newKeySet();
    private volatile Routes routes;
    /** Whether the router has stopped admitting work. */
    private volatile boolean closed;
    /** Whether connections were closed before the work on them had finished. */
    private volatile boolean cut;

    public RoutedPools(MapSource maps, PoolSettings settings, Duration drainTimeout, Duration closeTimeout) {
        this.maps = maps;
        this.settings = settings;
        this.drainTimeout = drainTimeout;
        this.closeTimeout = closeTimeout;
        OldDatabase old = settings.oldDatabase();
        ServerPool ofOld = old == null ? null : ServerPool.of(old.telling(this::left), settings);
        this.routes = Routes.of(maps.map(), this::newPool, ofOld);
    }

    private ServerPool newPool(Server server) {
        return new ServerPool(server, settings, maps::hint);
    }

    public Routes routes() {
        return routes;
    }

    /** Registers work that {@link #stop} waits for, until {@link #leave}. */
    public void enter() {
        running.increment();
        if (closed) {
            running.decrement();
            throw closedException();
        }
    }

    public void leave() {
        running.decrement();
    }

    private static IllegalStateException closedException() {
        return new IllegalStateException("the router is closed");
    }

    /** Routes by a new map, and drops servers that the map lacks once their work is done; false if the router is closed. */
    public boolean mapChanged(ShardMap map) {
        changingRoutes.lock();
        try {
            if (closed) {
                return false;
            }
            Routes old = routes;
            Routes next = old.next(map, this::newPool);
            routes = next;
            old.without(next).forEach(this::drain);
            return true;
        } finally {
            changingRoutes.unlock();
        }
    }

    /** Notes that a shard has left the old database, as the database itself reports. */
    private void left(int shard) {
        change(now -> now.leaving(shard));
    }

    /** Asks the old database again for a shard that had left, since the shard may have come back when its server refused work on it. */
    public void lookAgain(int shard) {
        change(now -> now.returning(shard));
    }

    private void change(UnaryOperator<Routes> other) {
        changingRoutes.lock();
        try {
            routes = other.apply(routes);
        } finally {
            changingRoutes.unlock();
        }
    }

    /** Opens pools before their first use. */
    public void open() {
        routes.all().forEach(ServerPool::open);
    }

    private void drain(ServerPool pool) {
        draining.add(pool);
        Thread thread = new Thread(
                () -> {
                    pool.drain(drainTimeout);
                    draining.remove(pool);
                },
                "shardflake-drain-" + pool.server().name());
        thread.setDaemon(true);
        thread.start();
    }

    /** Throws if connections were closed before the work on them had finished. */
    public void checkCut() {
        if (cut) {
            throw closedException();
        }
    }

    /** Stops admitting work, and waits a limited time for the running work. */
    public void stop() {
        changingRoutes.lock();
        try {
            closed = true;
        } finally {
            changingRoutes.unlock();
        }
        awaitWork();
        cut = true;
    }

    /** Closes all connections, even those that still run work. */
    @Override
    public void close() {
        routes.all().forEach(ServerPool::close);
        draining.forEach(ServerPool::close);
    }

    private void awaitWork() {
        long start = System.nanoTime();
        try {
            while (isBusy() && System.nanoTime() - start < closeTimeout.toNanos()) {
                Thread.sleep(LOOK_FOR_WORK_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // An interrupt means that the caller does not want to wait.
        }
    }

    private boolean isBusy() {
        return running.sum() > 0
                || Stream.concat(routes.all().stream(), draining.stream()).anyMatch(ServerPool::isBusy);
    }
}
