/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.SQLException;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.internal.session.LockWatch;
import org.shardflake.move.internal.session.MoveServerSession;
import org.shardflake.move.internal.session.SameServer;
import org.shardflake.move.server.MoveServer;

/** A move in progress: the lease, both servers and both streams. For one thread. */
final class MoveSession implements AutoCloseable {

    /** The latest claim of a piece of work, and its progress within shards. */
    static final class Claims {
        private final AtomicLong stepsDone = new AtomicLong();
        private OptionalLong last = OptionalLong.empty();

        OptionalLong last() {
            return last;
        }

        /** The number of copied parts of shards and built indexes, which are never undone. */
        long stepsDone() {
            return stepsDone.get();
        }

        private void took(long claim) {
            last = OptionalLong.of(claim);
        }
    }

    private final Claims claims;
    private final LockWatch locks;
    private final MoveLease lease;
    private final Move move;
    private final MoveServerSession source;
    private final MoveServerSession target;
    private final Stream forward;
    private final Stream reverse;

    private MoveSession(
            MoveLease lease,
            Move move,
            MoveServerSession source,
            MoveServerSession target,
            Claims claims,
            LockWatch locks) {
        this.claims = claims;
        this.locks = locks;
        this.lease = lease;
        this.move = move;
        this.source = source;
        this.target = target;
        this.forward = Stream.forward(move.tag(), source, target);
        this.reverse = Stream.reverse(move.tag(), source, target);
    }

    /** Takes over a move: from then on, no other command can change anything for it, on the servers or in the catalog. */
    static MoveSession takeUp(
            MoveCatalog catalog,
            long id,
            Claims claims,
            Function<String, MoveServer> servers,
            MoveListener listener,
            LockWatch locks)
            throws SQLException {
        MoveLease lease = catalog.takeUp(id, claims.last(), listener, locks::lease);
        claims.took(lease.claim());
        MoveServerSession source = null;
        MoveServerSession target = null;
        try {
            Move move = lease.move();
            source = MoveServerSession.claim(servers.apply(move.source()), move.tag(), lease.claim(), listener::waits);
            target = MoveServerSession.claim(servers.apply(move.target()), move.tag(), lease.claim(), listener::waits);
            MoveSession session = new MoveSession(lease, move, source, target, claims, locks);
            session.requireApart();
            session.forward.logInAnew();
            session.reverse.logInAnew();
            return session;
        } catch (SQLException | RuntimeException e) {
            if (target != null) {
                target.close();
            }
            if (source != null) {
                source.close();
            }
            lease.close();
            throw e;
        }
    }

    /** Requires two different servers: an address that also leads to a promoted standby could open one as the other. */
    private void requireApart() throws SQLException {
        try (SameServer there = SameServer.as(source.control())) {
            if (there.hasDatabase(target.control())) {
                throw new MoveRefusedException(
                        "the URLs of %s and %s lead to one database".formatted(source.name(), target.name()),
                        Advice.of(
                                "see with %s where each should lead, and that no virtual address changes it",
                                CliCommand.SERVER_LIST));
            }
        }
    }

    MoveLease lease() {
        return lease;
    }

    LockWatch locks() {
        return locks;
    }

    /** The move as of its takeover; its names never change, unlike its phase. */
    Move taken() {
        return move;
    }

    /** The current state of the move. */
    Move move() throws SQLException {
        return lease.move();
    }

    MoveServerSession source() {
        return source;
    }

    MoveServerSession target() {
        return target;
    }

    Stream forward() {
        return forward;
    }

    Stream reverse() {
        return reverse;
    }

    /** Notes that a part of a shard was copied, or an index built. Thread-safe. */
    void stepDone() {
        claims.stepsDone.incrementAndGet();
    }

    /** The stream that carries a shard's writes from its current server to the other. */
    Stream carrying(MoveShard shard) {
        return shard.server().equals(source.name()) ? forward : reverse;
    }

    /** The opposite stream. */
    Stream back(MoveShard shard) {
        return shard.server().equals(source.name()) ? reverse : forward;
    }

    @Override
    public void close() {
        target.close();
        source.close();
        lease.close();
    }
}
