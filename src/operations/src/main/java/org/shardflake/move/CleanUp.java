/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.deploy.ShardSchemaCopy;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.CopiesDifferException;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.internal.session.MoveServerSession;
import org.shardflake.move.internal.session.Seal;

/** Removes all objects of a move from the servers, except the shards where the catalog has them. Can be repeated at any time. */
public final class CleanUp {

    private static final String LOCK = """
            DO $$ DECLARE v_table regclass; BEGIN
                PERFORM set_config('lock_timeout', '2s', true);
                FOR v_table IN SELECT oid FROM pg_class WHERE relnamespace = '%s'::regnamespace AND relkind = 'r' ORDER BY relname COLLATE "C" LOOP
                    EXECUTE format('LOCK TABLE %%s IN ACCESS EXCLUSIVE MODE', v_table);
                END LOOP;
            END $$
            """;

    private final MoveSession session;
    private final MoveSettings settings;
    private final MoveListener listener;

    CleanUp(MoveSession session, MoveSettings settings, MoveListener listener) {
        this.session = session;
        this.settings = settings;
        this.listener = listener;
    }

    void run() throws SQLException {
        Move move = session.move();
        listener.reached(MoveStep.ENDING);
        if (!session.target().hasLibrary()) { // What the move brings there first.
            session.source().giveUpClaim();
            session.lease().end("move cancelled");
            return;
        }
        requireShards(move);
        requireSealed(move);
        session.reverse().drop();
        listener.reached(MoveStep.REVERSE_DROPPED);
        session.forward().drop();
        listener.reached(MoveStep.FORWARD_DROPPED);
        for (MoveServerSession side : sides()) {
            Sql.execute(side.control(), "SET synchronous_commit = off");
        }
        for (MoveShard shard : move.shards()) {
            MoveServerSession other = shard.server().equals(move.source()) ? session.target() : session.source();
            dropCopy(shard, other);
        }
        for (MoveServerSession side : sides()) {
            // A commit that waits for the disk, and so for all earlier drops.
            Sql.execute(side.control(), "SET synchronous_commit = on");
            side.giveUpClaim();
        }
        listener.reached(MoveStep.CLEANED);
        session.lease().end(move.phase() == MovePhase.COMPLETING ? "move completed" : "move cancelled");
    }

    /** Removes a move's objects on its source, without contacting the other server. */
    public static void ofSource(MoveServerSession source, String tag) throws SQLException {
        Stream.reverse(tag, source, source).dropSubscription();
        Stream forward = Stream.forward(tag, source, source);
        forward.dropSlot();
        forward.dropPublication();
        Sql.call(source.control(), "DELETE FROM shardflake.move_marker WHERE starts_with(stream, ? || '_')", tag);
        source.giveUpClaim();
    }

    private List<MoveServerSession> sides() {
        return List.of(session.source(), session.target());
    }

    /** Requires that the target has the shards: if the target was restored to an earlier time, the source's copies are the only ones. */
    private void requireShards(Move move) throws SQLException {
        for (MoveServerSession side : sides()) {
            List<MoveShard> its = move.shards().stream()
                    .filter(shard -> shard.server().equals(side.name()))
                    .toList();
            ShardSet present =
                    side.present(ShardSet.of(its.stream().map(MoveShard::shard).toList()));
            Map<Integer, Long> got = side.gotShards();
            ShardSet lost = ShardSet.of(its.stream()
                    .filter(shard -> !present.contains(shard.shard())
                            || (shard.phase() == ShardPhase.SWITCHED
                                    && got.getOrDefault(shard.shard(), 0L) < shard.epoch()))
                    .map(MoveShard::shard)
                    .toList());
            if (!lost.isEmpty()) {
                throw new MoveRefusedException(
                        "%s does not have %s as the shard map says, so nothing was removed: it was restored to an earlier time, and the other copies may be the newer ones"
                                .formatted(side.name(), Plural.shards(lost)),
                        Advice.of("see %s", CliCommand.DOCTOR));
            }
        }
    }

    /** Requires intact seals while there is a way back, since someone who broke a seal may have written to a copy. */
    private void requireSealed(Move move) throws SQLException {
        ShardSet broken = Seal.broken(session.source(), move.shardSet(ShardPhase.SWITCHED));
        if (!broken.isEmpty()
                && session.reverse().isDisabled()
                && session.reverse().hasSlot()) {
            session.lease().enter(MovePhase.FOLLOWING);
            throw new CopiesDifferException(
                    "copies of %s on %s were opened to writes after they had been compared, so nothing was removed; the same command compares them again"
                            .formatted(Plural.shards(broken), session.source().name()),
                    Map.of());
        }
    }

    /**
     * Drops the copy on the server that the catalog does not name. It must be closed: an open one would be the wrong one. The copy that a shard
     * has left is removed only if its seal is intact.
     */
    private void dropCopy(MoveShard shard, MoveServerSession side) throws SQLException {
        ShardSet its = ShardSet.of(shard.shard());
        if (side.present(its).isEmpty()) {
            return;
        }
        Optional<String> left = dropClosed(
                side, shard.shard(), settings.patience(), listener::waits, () -> requireSealed(shard, side, its));
        if (left.isPresent()) {
            throw new MoveException(left.get() + ". End them, and run the same command again");
        }
        listener.reached(MoveStep.SHARD_DROPPED);
    }

    private void requireSealed(MoveShard shard, MoveServerSession side, ShardSet its) throws SQLException {
        if (shard.phase() == ShardPhase.SWITCHED && !Seal.broken(side, its).isEmpty()) {
            throw new CopiesDifferException(
                    "the copy of shard %1$s on %2$s was opened to writes after it had been compared, and is kept. Look for rows that %3$s lacks; then SELECT shardflake.drop_shard(%1$s, force => true) on %2$s, and run the same command again"
                            .formatted(
                                    shard.shard(), side.name(), session.target().name()),
                    Map.of());
        }
    }

    /** A condition for removing a copy. */
    @FunctionalInterface
    public interface Condition {
        void require() throws SQLException;
    }

    /**
     * Removes the copy of a shard that accepts no writes.
     *
     * @param condition looked at while nobody can use the copy
     * @param voice gets the sessions that hold its tables, once they have for a second
     * @return what is left and why, if sessions held its tables for all this time
     */
    public static Optional<String> dropClosed(
            MoveServerSession side, int shard, Duration patience, Consumer<String> voice, Condition condition)
            throws SQLException {
        Poll.Reason reason = () -> "the copy of shard %s on %s is left, since sessions there hold its tables: %s"
                .formatted(shard, side.name(), side.holders(shard));
        return Poll.everyMillis(200, patience).until(() -> tryToDrop(side, shard, condition), reason, voice)
                ? Optional.empty()
                : Optional.of(reason.get());
    }

    /** Waits only briefly for readers, since other sessions would queue behind this one. */
    private static boolean tryToDrop(MoveServerSession side, int shard, Condition condition) throws SQLException {
        Connection connection = side.control();
        try {
            return Sql.inTransaction(connection, () -> {
                Sql.execute(
                        connection,
                        side.checkClaim()
                                + "DO $$ BEGIN IF EXISTS (SELECT FROM shardflake.fences(%1$s)) AND NOT shardflake.is_fenced(%1$s) THEN RAISE 'shard %1$s takes writes here, where the shard map does not have it'; END IF; END $$;\n"
                                        .formatted(shard)
                                + LOCK.formatted(Sharding.schema(shard)));
                condition.require();
                ShardSchemaCopy.forget(connection, shard);
                Sql.execute(connection, "SELECT shardflake.drop_shard(%s, force => true)".formatted(shard));
                return true;
            });
        } catch (SQLException e) {
            if (Sql.isInTheWay(e)) {
                return false;
            }
            throw e;
        }
    }
}
