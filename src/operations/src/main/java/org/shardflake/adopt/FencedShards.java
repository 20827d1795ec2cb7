/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;

/**
 * The shards whose servers refuse writes because the shards have come back to the old database. An application may have been told before that
 * such a shard had left, and write there only now: it is refused until the shard leaves again.
 *
 * <p>The old database has each on record before it is fenced, so that a later command opens what a killed one has left closed.
 */
final class FencedShards {

    /** The time for which writers may be blocked by others that started earlier. */
    private static final Duration PATIENCE = Duration.ofMillis(90);

    private static final Duration ALL_ATTEMPTS = Duration.ofSeconds(30);

    private final AdoptSession session;
    private final SliceFence slices;

    FencedShards(AdoptSession session) {
        this.session = session;
        this.slices = new SliceFence(session.old());
    }

    /** Makes a shard's server refuse writes to the shard; writes that had started have ended when this returns. */
    void fence(int shard) throws SQLException {
        boolean isOnRecord = slices.fenced().contains(shard);
        slices.noteFenced(shard);
        boolean isFenced;
        try {
            isFenced = isDone(shard, "fence_shard");
        } catch (SQLException e) {
            if (!isOnRecord && !Sql.isOutage(e)) {
                slices.forgetFenced(shard);
            }
            throw e;
        }
        if (!isFenced) {
            if (!isOnRecord) {
                slices.forgetFenced(shard);
            }
            throw new AdoptException(
                    ShardflakeException.Kind.FAILURE,
                    "shard %s could not come back: transactions that write to it do not end".formatted(shard),
                    "find them in pg_stat_activity on its server by their xact_start, end them, and run the same command again");
        }
    }

    /** Tries a step for a moment only, since writers queue behind a statement that waits for a table's lock. */
    private boolean isDone(int shard, String function) throws SQLException {
        return Poll.everyMillis(100, ALL_ATTEMPTS).until(() -> isDoneNow(shard, function));
    }

    private boolean isDoneNow(int shard, String function) throws SQLException {
        try {
            // One implicit transaction: a failure takes the setting back.
            Sql.execute(
                    connection(shard),
                    "SET lock_timeout = %s; SELECT shardflake.%s(%s); SET lock_timeout = 0"
                            .formatted(PATIENCE.toMillis(), function, shard));
            return true;
        } catch (SQLException e) {
            if (!Sql.isInTheWay(e)) {
                throw e;
            }
            return false;
        }
    }

    /** Makes a shard's server accept writes again, if this adoption has fenced the shard. */
    void open(int shard) throws SQLException {
        if (slices.fenced().contains(shard)) {
            if (!isDone(shard, "unfence_shard")) {
                throw new AdoptException(
                        "the server of shard %s still refuses writes to it: others hold locks of its tables; run the same command again"
                                .formatted(shard));
            }
            slices.forgetFenced(shard);
        }
    }

    /** Opens shards that have left but are still fenced, as a killed command leaves them, with some exceptions. */
    void settle(ShardSet except) throws SQLException {
        Set<Integer> left = new TreeSet<>(slices.fenced());
        left.retainAll(slices.over());
        for (int shard : left) {
            if (!except.contains(shard)) {
                open(shard);
            }
        }
    }

    /** Opens all shards that have come back, since the adoption is given up. */
    void openAll() throws SQLException {
        for (int shard : slices.fenced()) {
            open(shard);
        }
    }

    /** Refuses to close all tables while the servers of some shards refuse writes. */
    void refuseBack() throws SQLException {
        ShardSet back = ShardSet.of(slices.back());
        if (!back.isEmpty()) {
            throw new AdoptRefusedException(
                    "%s come back, and writes to %s are refused"
                            .formatted(Plural.shards(back, "has", "have"), Plural.choose(back, "it", "them")),
                    Advice.of("let them leave again by %s", CliCommand.ADOPT_CUTOVER));
        }
    }

    /** A connection to the server of a shard. */
    Connection connection(int shard) {
        for (Map.Entry<Server, Connection> server : session.servers().entrySet()) {
            if (session.map().shards(server.getKey()).contains(shard)) {
                return server.getValue();
            }
        }
        throw new IllegalArgumentException("no server has shard " + shard);
    }
}
