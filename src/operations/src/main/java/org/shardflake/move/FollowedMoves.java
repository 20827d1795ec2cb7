/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.deploy.Follower;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.internal.session.LockWatch;
import org.shardflake.move.server.MoveServer;
import org.shardflake.server.ServerUrl;

/**
 * The moves that are locked while the schema of their shards changes on both servers. No shard is cut over, and no move ended, before this is
 * closed. For one thread.
 */
public final class FollowedMoves implements AutoCloseable {

    private final MoveCatalog catalog;
    private final Function<String, MoveServer> servers;
    private final MoveListener listener;
    private final Duration patience = MoveSettings.DEFAULT.patience();
    private final List<MoveSession> sessions = new ArrayList<>();
    private final LockWatch locks;

    /**
     * Creates an object that has not locked any move yet.
     *
     * @param servers the URL of a server of the shard map, including what is needed to log in
     * @param listener gets what is waited for
     */
    public FollowedMoves(ServerUrl catalog, Function<String, MoveServer> servers, MoveListener listener) {
        this.catalog = new MoveCatalog(catalog);
        this.servers = servers;
        this.listener = listener;
        // Sessions that deploy have their limits already.
        this.locks = LockWatch.begin(
                () -> List.of(new LockWatch.Place(
                        "the catalog", this.catalog.url(), LockWatch.mark("shardflake schema deploy"), true)),
                patience,
                listener::waits);
    }

    /**
     * Takes up a move, as every command that works on it does.
     *
     * @param shards those whose schema is to change
     * @param followers gets the shards of each server and what follows them
     * @throws MoveRefusedException if another command works on the move, or copies do not follow
     */
    public void hold(long id, ShardSet shards, BiConsumer<ShardSet, Follower.Held> followers) {
        Sql.translating(() -> {
            MoveSession session = takeUp(id);
            Move move = session.move();
            Mover.checkCutover(move);
            NewTables tables = new NewTables(session, patience, listener);
            boolean learns = NewTables.canBeLearned(session);
            tables.learn(); // what an interrupted deployment left
            for (Stream stream : List.of(session.forward(), session.reverse())) {
                ShardSet its = ShardSet.of(shards.stream()
                        .filter(shard -> session.carrying(move.shard(shard)) == stream)
                        .toArray());
                if (!its.isEmpty()) {
                    requireFollowing(move, its, stream);
                    followers.accept(its, new Copies(id, stream, tables, learns));
                }
            }
            return true;
        });
    }

    /**
     * The copies of a move's shards, for planning.
     *
     * @param server the one that has the copies
     */
    public static Follower planned(Move move, String server) {
        return new Planned(move.id(), server);
    }

    private record Planned(long move, String server) implements Follower {}

    /**
     * Lets the servers of a move replicate tables that an interrupted deployment has created on both.
     *
     * @throws MoveRefusedException if another command works on the move
     */
    public void finish(long id) {
        Sql.translating(() -> {
            MoveSession session = takeUp(id);
            Mover.checkCutover(session.move());
            new NewTables(session, patience, listener).learn();
            return true;
        });
    }

    /** Whether an interrupted deployment has left tables that are not replicated. The move is not held, so there may be others at any time. */
    public static boolean isUnfinished(Move move, Function<String, MoveServer> servers) {
        return Sql.translating(() -> NewTables.areThere(move, servers));
    }

    private MoveSession takeUp(long id) throws SQLException {
        MoveSession session = MoveSession.takeUp(catalog, id, new MoveSession.Claims(), servers, listener, locks);
        sessions.add(session);
        new MoveRecovery(session, patience, listener).run();
        return session;
    }

    private static void requireFollowing(Move move, ShardSet shards, Stream stream) throws SQLException {
        if (stream.isDisabled() || !stream.canFollow()) {
            throw new MoveRefusedException(
                    "the copies of %s on %s do not follow, and move %s has to be ended before the schema changes"
                            .formatted(
                                    Plural.shards(shards), stream.subscriber().name(), move.id()),
                    Advice.of("see %s", CliCommand.MOVE_STATUS_OF.with(move.id())));
        }
    }

    /** The copies at the receiving end of a stream. */
    private record Copies(long move, Stream stream, NewTables tables, boolean learnsTables) implements Follower.Held {

        @Override
        public String server() {
            return stream.subscriber().name();
        }

        @Override
        public Connection connectToShards() throws SQLException {
            return stream.publisher().connect();
        }

        @Override
        public Connection connectToCopies() throws SQLException {
            return stream.subscriber().connect();
        }

        @Override
        public String shardsClaim() {
            return stream.publisher().checkClaim();
        }

        @Override
        public String copiesClaim() {
            return stream.subscriber().checkClaim();
        }

        @Override
        public boolean catchesUp(Duration atMost) throws SQLException {
            return stream.reaches(stream.mark(), System.nanoTime() + atMost.toNanos());
        }

        @Override
        public void learnTables() throws SQLException {
            tables.learn();
        }
    }

    @Override
    public void close() {
        sessions.forEach(MoveSession::close);
        locks.close();
    }
}
