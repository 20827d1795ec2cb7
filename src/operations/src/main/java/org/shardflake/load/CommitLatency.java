/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/**
 * The shortest and longest commit times of small transactions on a server. The time is divided into parts, and each part has a median.
 *
 * @param least the median of the fastest part
 * @param most the median of the slowest part
 */
public record CommitLatency(Duration least, Duration most) {

    /** A transaction that only writes to the log, so that it needs no table, privilege or clean-up. Nobody subscribes to the message. */
    private static final String TRANSACTION = "SELECT pg_logical_emit_message(true, 'shardflake', '')";

    /** The largest slowdown that counts as unimportant, even if it is a multiple of very short commits. */
    private static final Duration UNNOTICED = Duration.ofMillis(2);

    /** The limit on a commit, which may wait for a missing synchronous standby without any timeout of the server. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private static final int PARTS = 5;
    private static final long MILLIS_BETWEEN = 100;

    /**
     * Commits ten times a second on each server, on all servers concurrently.
     *
     * @param urls the URL of a server, including what is needed to log in
     * @throws ShardflakeException if a server refuses, or a commit takes longer than 30 s
     */
    public static Map<String, CommitLatency> measure(
            Collection<Server> servers, Function<Server, ServerUrl> urls, Duration over) throws InterruptedException {
        return measure(servers, urls, over, PATIENCE);
    }

    static Map<String, CommitLatency> measure(
            Collection<Server> servers, Function<Server, ServerUrl> urls, Duration over, Duration patience)
            throws InterruptedException {
        Map<String, CommitLatency> measured = new TreeMap<>();
        EachServer.ask(servers, urls, (connection, server) -> {
                    connection.setNetworkTimeout(Runnable::run, Math.toIntExact(patience.toMillis()));
                    return measure(connection, over);
                })
                .forEach((server, answer) -> {
                    if (answer.result() == null) {
                        throw new ShardflakeException(
                                Kind.FAILURE,
                                "cannot measure the commits of server %s: %s"
                                        .formatted(server.name(), answer.problem()),
                                Advice.of("%s looks for the cause", CliCommand.DOCTOR),
                                answer.failure());
                    }
                    measured.put(server.name(), answer.result());
                });
        return measured;
    }

    private static CommitLatency measure(Connection connection, Duration over) throws SQLException {
        Sql.call(connection, TRANSACTION); // The first one of a session takes longer.
        List<Long> medians = new ArrayList<>();
        for (int part = 0; part < PARTS; part++) {
            medians.add(median(connection, over.dividedBy(PARTS)));
        }
        return new CommitLatency(
                Duration.ofNanos(Collections.min(medians)), Duration.ofNanos(Collections.max(medians)));
    }

    private static long median(Connection connection, Duration over) throws SQLException {
        long end = System.nanoTime() + over.toNanos();
        List<Long> taken = new ArrayList<>();
        do {
            long begun = System.nanoTime();
            Sql.call(connection, TRANSACTION);
            taken.add(System.nanoTime() - begun);
            pause(end);
        } while (System.nanoTime() < end);
        Collections.sort(taken);
        return taken.get(taken.size() / 2);
    }

    private static void pause(long end) throws SQLException {
        long left = Math.max(0, end - System.nanoTime());
        try {
            TimeUnit.NANOSECONDS.sleep(Math.min(left, TimeUnit.MILLISECONDS.toNanos(MILLIS_BETWEEN)));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SQLException("interrupted", e);
        }
    }

    /** The range that covers this one and another. */
    public CommitLatency and(CommitLatency other) {
        return new CommitLatency(
                Collections.min(List.of(least, other.least)), Collections.max(List.of(most, other.most)));
    }

    /** Whether even the shortest time is longer than the longest one before, by this percentage and by more than 2 ms. */
    public boolean isSlowerThan(CommitLatency before, int percent) {
        Duration more = before.most.multipliedBy(percent).dividedBy(100);
        return least.minus(before.most).compareTo(Collections.max(List.of(more, UNNOTICED))) > 0;
    }
}
