/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.shardflake.compare.EqualCopies;
import org.shardflake.compare.SnapshotPair;
import org.shardflake.compare.TableDifference;
import org.shardflake.jdbc.InParallel;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.internal.session.MoveServerSession;

/**
 * Both copies of a shard as of its cutover: frozen on the server that the shard left, and not yet open on the other. The sessions keep seeing
 * that state, whatever is written afterwards.
 */
final class FrozenCopies implements AutoCloseable {

    private final MoveShard shard;
    private final List<String> tables;
    private final MoveServerSession source;
    private final Optional<SnapshotPair> sessions;
    private final EqualCopies.Attempt attempt;
    private final Optional<HeldStream> held;
    private boolean inUse = true;

    /**
     * @param sessions on the source first; empty if nothing is to be compared
     * @param held the stream that must not change the copy before it was compared
     */
    FrozenCopies(
            MoveServerSession source,
            MoveShard shard,
            List<String> tables,
            Optional<SnapshotPair> sessions,
            EqualCopies.Attempt attempt,
            Optional<HeldStream> held) {
        this.source = source;
        this.shard = shard;
        this.tables = tables;
        this.sessions = sessions;
        this.attempt = attempt;
        this.held = held;
    }

    int shard() {
        return shard.shard();
    }

    /** Prepares to compare the rows of a server as of the moment when {@link #await} returns, or shortly before. */
    Future<?> seeSoon(MoveServerSession side) {
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

    List<TableDifference> compare(SnapshotPair sessions, TableDifference.Names names, TableDifference.First first)
            throws SQLException {
        boolean leaderIsSource = shard.server().equals(source.name());
        return attempt.compare(tables, sessions, leaderIsSource ? sessions.first() : sessions.second(), names, first);
    }

    /** Lets the copy follow the shard again. */
    void letFollow() {
        held.ifPresent(HeldStream::close);
    }

    /** Makes {@link #close} leave the sessions open for {@link #compare}. */
    Optional<SnapshotPair> handOver() {
        inUse = false;
        return sessions;
    }

    /** Closes the sessions, whose snapshots are useless for the next attempt. */
    @Override
    public void close() {
        if (inUse) {
            letFollow();
            sessions.ifPresent(SnapshotPair::close);
        }
    }
}
