/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/**
 * Both copies of a shard as of its cutover: frozen on the server it left, and not yet open on the other. The sessions keep seeing
 * that state, whatever is written afterwards.
 */
final class Comparison implements AutoCloseable {

    private final MoveShard shard;
    private final List<String> tables;
    private final MoveSide source;
    private final Optional<ComparisonSessions> sessions;
    private boolean inUse = true;

    /**
     * @param sessions on the source first; empty if nothing is to be compared
     */
    Comparison(MoveSide source, MoveShard shard, List<String> tables, Optional<ComparisonSessions> sessions) {
        this.source = source;
        this.shard = shard;
        this.tables = tables;
        this.sessions = sessions;
    }

    int shard() {
        return shard.shard();
    }

    /** Compares the rows of a server as of the moment {@link #await} returns, or shortly before. */
    Future<?> seeSoon(MoveSide side) {
        if (sessions.isEmpty()) {
            return CompletableFuture.completedFuture(true);
        }
        Connection connection =
                side == source ? sessions.get().first() : sessions.get().second();
        return InParallel.start(() -> {
            Sql.call(connection, "SELECT 1");
            return true;
        });
    }

    static void await(Future<?> seen) throws SQLException {
        InParallel.await(seen);
    }

    /**
     * Compares what the sessions see.
     *
     * @param copies are told of tables that are equal
     */
    List<TableDifference> compare(ComparisonSessions sessions, ComparedCopies copies) throws SQLException {
        boolean leaderIsSource = shard.server().equals(source.name());
        Connection leader = leaderIsSource ? sessions.first() : sessions.second();
        Connection follower = leaderIsSource ? sessions.second() : sessions.first();
        ComparedCopies.Moment moment = ComparedCopies.Moment.read(sessions.first(), sessions.second());
        List<TableDifference> differences = new ArrayList<>();
        for (String table : tables) {
            TableDifference.find(
                            leader,
                            follower,
                            Rows.of(leader, follower, table),
                            rows -> copies.found(table, moment, rows))
                    .ifPresent(differences::add);
        }
        return differences;
    }

    /** Makes {@link #close} leave the sessions open for {@link #compare}. */
    Optional<ComparisonSessions> handOver() {
        inUse = false;
        return sessions;
    }

    /** Closes the sessions: their snapshots are of no use to the next attempt. */
    @Override
    public void close() {
        if (inUse) {
            sessions.ifPresent(ComparisonSessions::close);
        }
    }
}
