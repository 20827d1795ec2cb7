/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.shardflake.router.RetryPolicy;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.exception.CommitOutcomeUnknownException;

/** Threads that write notes to shard 1 through a router until closed, and what was acknowledged. */
final class NoteLoad implements AutoCloseable {

    private static final Duration SOON = Duration.ofMinutes(2);
    private static final int THREADS = 2;

    private final ShardRouter router;
    private final Map<String, Long> acknowledged = new ConcurrentHashMap<>();
    private final Queue<String> unknown = new ConcurrentLinkedQueue<>();
    private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    private final List<Future<?>> running = new ArrayList<>();
    private final Duration rest;
    private volatile boolean stopped;

    /** Threads that never rest. */
    NoteLoad(String catalog) {
        this(catalog, Duration.ZERO);
    }

    /** @param rest of each thread after each write */
    NoteLoad(String catalog, Duration rest) {
        this.rest = rest;
        // As long as anybody may take to promote a standby.
        router = ShardRouter.builder()
                .catalog(catalog)
                .connectionTimeout(SOON)
                .retryPolicy(RetryPolicy.DEFAULT.withMaxTries(10_000).withDeadline(SOON))
                .build();
        for (int thread = 0; thread < THREADS; thread++) {
            String prefix = "new " + thread + " ";
            running.add(threads.submit(() -> run(prefix)));
        }
    }

    private void run(String prefix) {
        for (int n = 0; !stopped; n++) {
            String text = prefix + n;
            try {
                long id = router.write(1, tx -> {
                    try (Statement statement = tx.connection().createStatement();
                            ResultSet row = statement.executeQuery(
                                    tx.sql("INSERT INTO ${shard.schema}.note (text) VALUES ('%s') RETURNING id"
                                            .formatted(text)))) {
                        row.next();
                        return row.getLong(1);
                    }
                });
                acknowledged.put(text, id);
            } catch (CommitOutcomeUnknownException e) {
                unknown.add(text);
            } catch (RuntimeException | SQLException e) {
                failures.add(e);
            }
            LockSupport.parkNanos(rest.toNanos());
        }
    }

    void awaitMore(int more) {
        int enough = acknowledged.size() + more;
        await().atMost(SOON).until(() -> acknowledged.size() >= enough);
    }

    int unknown() {
        return unknown.size();
    }

    int acknowledged() {
        return acknowledged.size();
    }

    /** Every acknowledged row is there, no id or row appears twice, and only commits of unknown outcome have failed. */
    void isAllIn(Connection connection) throws SQLException {
        assertThat(failures).isEmpty();
        Map<String, Long> there = new TreeMap<>();
        int rows = 0;
        try (Statement statement = connection.createStatement();
                ResultSet row =
                        statement.executeQuery("SELECT text, id FROM shard_0001.note WHERE text LIKE 'new %'")) {
            for (; row.next(); rows++) {
                there.put(row.getString(1), row.getLong(2));
            }
        }
        assertThat(rows).isEqualTo(there.size());
        // Not containsAllEntriesOf, which is slow on tens of thousands.
        Map<String, Long> lost = new TreeMap<>(acknowledged);
        lost.entrySet().removeAll(there.entrySet());
        assertThat(lost).isEmpty();
        there.keySet().removeAll(acknowledged.keySet());
        assertThat(unknown).containsAll(there.keySet());
        assertThat(acknowledged.values().stream().distinct().count()).isEqualTo(acknowledged.size());
    }

    @Override
    public void close() throws Exception {
        stopped = true;
        for (Future<?> thread : running) {
            thread.get(4, TimeUnit.MINUTES);
        }
        threads.shutdownNow();
        router.close();
    }
}
