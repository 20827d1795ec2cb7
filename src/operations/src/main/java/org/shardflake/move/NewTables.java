/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.shardflake.Advice;
import org.shardflake.ShardflakeException;
import org.shardflake.jdbc.Poll;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.internal.session.MoveServerSession;
import org.shardflake.move.server.MoveServer;
import org.shardflake.replication.StreamTrouble;

/**
 * Tables that both servers of a move have but a subscription does not know, since they were created after the move began.
 *
 * <p>The server that has the shard publishes them, and PostgreSQL copies their rows to the other one, which then follows. The stream back only learns
 * them: it sends them once the shard has been cut over. All is seen from the servers, so whatever was interrupted, this does the rest.
 */
final class NewTables {

    /** The number of errors that count as lasting; PostgreSQL retries immediately or after some seconds. */
    private static final int LASTING_ERRORS = 20;

    private final MoveSession session;
    private final Duration patience;
    private final MoveListener listener;

    /** @param patience how long to wait for the rows of the new tables */
    NewTables(MoveSession session, Duration patience, MoveListener listener) {
        this.session = session;
        this.patience = patience;
        this.listener = listener;
    }

    /** Whether both servers can replicate tables that are created from now on. */
    static boolean canBeLearned(MoveSession session) throws SQLException {
        return session.forward().learns() && session.reverse().learns();
    }

    /** Whether the servers have tables that are not replicated yet. */
    static boolean areThere(Move move, Function<String, MoveServer> servers) throws SQLException {
        try (MoveServerSession source = MoveServerSession.toRead(servers.apply(move.source()), move.tag());
                MoveServerSession target = MoveServerSession.toRead(servers.apply(move.target()), move.tag())) {
            Map<Integer, List<String>> tables = ofBoth(move, source, target);
            for (Stream stream :
                    List.of(Stream.forward(move.tag(), source, target), Stream.reverse(move.tag(), source, target))) {
                if (stream.learns() && !Unknown.of(move, stream, tables).isEmpty()) {
                    return true;
                }
            }
            return false;
        }
    }

    /**
     * Makes both servers replicate all their tables to each other.
     *
     * @throws MoveException if the rows of new tables do not arrive in time; the tables are used as usual, and the same is tried again later
     */
    void learn() throws SQLException {
        if (!canBeLearned(session)) {
            return;
        }
        Map<Integer, List<String>> tables = ofBoth(session.move(), session.source(), session.target());
        for (Stream stream : List.of(session.forward(), session.reverse())) {
            Unknown unknown = Unknown.of(session.move(), stream, tables);
            if (unknown.isEmpty()) {
                continue;
            }
            stream.await(patience, listener); // or says why it cannot follow
            if (!unknown.others.isEmpty()) {
                stream.learn(unknown.others, false, unknown.sent);
            }
            if (!unknown.sent.isEmpty()) {
                stream.learn(unknown.sent, true, Set.of());
            }
            awaitRows(stream);
        }
    }

    private static Map<Integer, List<String>> ofBoth(Move move, MoveServerSession source, MoveServerSession target)
            throws SQLException {
        Map<Integer, List<String>> tables = source.tables(move.shardSet());
        Map<Integer, List<String>> there = target.tables(move.shardSet());
        tables.forEach((shard, its) -> its.retainAll(there.getOrDefault(shard, List.of())));
        return tables;
    }

    /**
     * The tables that a stream's subscription does not know.
     *
     * @param sent those of shards that its publisher has
     * @param others those of shards that its subscriber has
     * @param isCopying whether rows of known ones are still copied
     */
    private record Unknown(Set<String> sent, Set<String> others, boolean isCopying) {

        static Unknown of(Move move, Stream stream, Map<Integer, List<String>> tables) throws SQLException {
            Map<String, Boolean> known = stream.known();
            Set<String> sent = new TreeSet<>();
            Set<String> others = new TreeSet<>();
            for (MoveShard shard : move.shards()) {
                boolean isSent = shard.server().equals(stream.publisher().name());
                tables.getOrDefault(shard.shard(), List.of()).stream()
                        .filter(table -> !known.containsKey(table))
                        .forEach((isSent ? sent : others)::add);
            }
            return new Unknown(sent, others, known.containsValue(false));
        }

        boolean isEmpty() {
            return sent.isEmpty() && others.isEmpty() && !isCopying;
        }
    }

    private void awaitRows(Stream stream) throws SQLException {
        long errors = stream.errors();
        stream.mark(); // A subscription takes note of the end of a copy with what it gets next.
        Poll.Reason reason = () -> {
            Optional<StreamTrouble> trouble = stream.trouble(errors);
            return "%s copies the rows of new tables from %s: %s%s"
                    .formatted(
                            stream.subscriber().name(),
                            stream.publisher().name(),
                            String.join(", ", lacking(stream)),
                            trouble.map(its -> "; " + its.what()).orElse(""));
        };
        Poll.Condition isOver =
                () -> !stream.known().containsValue(false) || stream.errors() - errors >= LASTING_ERRORS;
        if (!Poll.everyMillis(20, patience).until(isOver, reason, listener::waits)
                || !lacking(stream).isEmpty()) {
            throw new MoveException(
                    ShardflakeException.Kind.FAILURE,
                    "%s does not get the rows of new tables from %s: %s"
                            .formatted(
                                    stream.subscriber().name(),
                                    stream.publisher().name(),
                                    String.join(", ", lacking(stream))),
                    Advice.of(
                            "look for transactions on %s that have been writing for long, for a free replication slot there, and for the reason in the log of %s; then run the same command again",
                            stream.publisher().name(), stream.subscriber().name()));
        }
    }

    private static List<String> lacking(Stream stream) throws SQLException {
        return stream.known().entrySet().stream()
                .filter(table -> !table.getValue())
                .map(Map.Entry::getKey)
                .toList();
    }
}
