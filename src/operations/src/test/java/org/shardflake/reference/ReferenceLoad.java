/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;

/** Threads that insert into reference table seen, by a router, until they are stopped. */
final class ReferenceLoad implements AutoCloseable {

    private final ShardRouter router;
    private final ExecutorService threads;
    private final List<Future<?>> writers;
    private final Set<Long> written = ConcurrentHashMap.newKeySet();
    private volatile boolean stopped;

    ReferenceLoad(ShardRouter router, int count) {
        this.router = router;
        this.threads = Executors.newFixedThreadPool(count);
        this.writers = IntStream.range(0, count)
                .<Future<?>>mapToObj(writer -> threads.submit(this::write))
                .toList();
    }

    private Void write() throws InterruptedException {
        while (!stopped) {
            written.add(router.reference().write(ReferenceLoad::insert));
            Thread.sleep(3); // The servers share the machine.
        }
        return null;
    }

    private static long insert(Connection connection) {
        try {
            return Sql.number(connection, "INSERT INTO reference.seen (what) VALUES ('x') RETURNING id");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Waits until this many more rows are written. */
    void awaitWrites(int more) throws InterruptedException, ExecutionException {
        int wanted = written.size() + more;
        while (written.size() < wanted) {
            for (Future<?> writer : writers) {
                if (writer.isDone()) {
                    writer.get();
                    throw new AssertionError("a writer has ended");
                }
            }
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }

    /** Returns the ids of all rows whose insertion was confirmed. */
    Set<Long> stop() throws InterruptedException, ExecutionException {
        stopped = true;
        for (Future<?> writer : writers) {
            writer.get();
        }
        return new HashSet<>(written);
    }

    @Override
    public void close() {
        stopped = true;
        threads.shutdownNow();
    }
}
