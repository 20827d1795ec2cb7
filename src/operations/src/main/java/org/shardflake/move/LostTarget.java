/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.SQLException;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.function.IntPredicate;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.internal.session.MoveServerSession;
import org.shardflake.move.internal.session.OpenShard;
import org.shardflake.move.server.MoveServer;

/** Ends a move whose target is gone for good. The source's slot would keep its log until the disk is full. */
final class LostTarget {

    private static final String NO_DATABASE = "3D000";

    private LostTarget() {}

    /** Checks whether a move can be ended without its target. Changes nothing. */
    static void check(Move move, Function<String, MoveServer> servers) throws SQLException {
        requireLost(servers.apply(move.target()), move.id());
        try (MoveServerSession source = MoveServerSession.toRead(servers.apply(move.source()), move.tag())) {
            requireHere(source, move);
        }
    }

    static void cancel(MoveCatalog catalog, long id, Function<String, MoveServer> servers) throws SQLException {
        try (MoveLease lease = catalog.takeUp(id, OptionalLong.empty(), MoveListener.NONE, session -> {})) {
            Move move = lease.move();
            requireLost(servers.apply(move.target()), move.id());
            try (MoveServerSession source =
                    MoveServerSession.claim(servers.apply(move.source()), move.tag(), lease.claim(), voice -> {})) {
                requireHere(source, move);
                lease.enter(MovePhase.CANCELLING);
                ShardSet fenced = source.fenced(move.shardSet());
                ShardSet stopped = source.stopped(move.shardSet());
                for (MoveShard shard : move.shards()) {
                    if (fenced.contains(shard.shard()) || stopped.contains(shard.shard())) {
                        open(source, lease, shard);
                    }
                }
                CleanUp.ofSource(source, move.tag());
            }
            lease.end("move cancelled");
        }
    }

    private static void requireLost(MoveServer target, long move) {
        whyItAnswers(target).ifPresent(why -> {
            throw new MoveRefusedException(
                    "%s answers%s".formatted(target.name(), why),
                    Advice.of("%s cleans up there, too", CliCommand.MOVE_CANCEL.with(move)));
        });
    }

    /** A description of the target's answer; empty if the target does not answer. One that starts, or has no connection to spare, does. */
    private static Optional<String> whyItAnswers(MoveServer target) {
        try {
            return Sql.with(target.connect("shardflake move"), connection -> Optional.of(""));
        } catch (SQLException e) {
            String state = String.valueOf(e.getSQLState());
            return state.startsWith("08") || state.equals(NO_DATABASE)
                    ? Optional.empty()
                    : Optional.of(": " + Sql.message(e));
        }
    }

    /** Requires that the source has every row of all shards. */
    private static void requireHere(MoveServerSession source, Move move) throws SQLException {
        ShardSet away = shards(move, shard -> !move.shard(shard).server().equals(move.source()));
        if (!away.isEmpty()) {
            throw refused(move, "%s on %s, which may have rows that %s lacks", Plural.shards(away, "is", "are"));
        }
        MoveRecovery.checkCatalogIsNewest(source, move);
        Map<Integer, Long> gaveUp = source.gaveUpShards();
        // An attempt is in the catalog before the source gives the shard up for it.
        ShardSet forgotten = shards(
                move,
                shard -> gaveUp.getOrDefault(shard, 0L) > move.shard(shard).epoch()
                        && move.shard(shard).phase() != ShardPhase.CUTTING_OVER);
        if (!forgotten.isEmpty()) {
            throw refused(
                    move,
                    "%1$s given to %2$s by %3$s, and the catalog does not know: it is older than the servers, as after a restore",
                    Plural.shards(forgotten, "was", "were"));
        }
        Map<Integer, Long> got = source.gotShards();
        ShardSet doubtful = shards(move, shard -> {
            long epoch = move.shard(shard).epoch();
            return move.shard(shard).mark().isPresent()
                    // Opened since it was brought back, and perhaps closed once more for another attempt.
                    && got.getOrDefault(shard, 0L) != epoch
                    && gaveUp.getOrDefault(shard, 0L) != epoch + 1;
        });
        if (!doubtful.isEmpty()) {
            throw refused(
                    move,
                    "%s being brought back from %s, and %s may lack the last rows",
                    Plural.shards(doubtful, "was", "were"));
        }
    }

    private static ShardSet shards(Move move, IntPredicate which) {
        return ShardSet.of(move.shardSet().stream().filter(which).toArray());
    }

    private static MoveRefusedException refused(Move move, String message, String shards) {
        return new MoveRefusedException(
                message.formatted(shards, move.target(), move.source()),
                "restore %s; the guide says how".formatted(move.target()));
    }

    /** Opens the shard on the source with its own sequences: no ids have been drawn elsewhere since it was last open here. */
    private static void open(MoveServerSession source, MoveLease lease, MoveShard shard) throws SQLException {
        boolean inCutover = shard.phase() == ShardPhase.CUTTING_OVER;
        if (inCutover) {
            // Before it is opened: no attempt may give it to the target from now on.
            lease.disarm(shard.shard(), ShardPhase.CUTTING_OVER);
        }
        Sql.execute(
                source.control(),
                source.checkClaim() + OpenShard.whereItIsSql(shard.shard(), shard.epoch(), null, null, ""));
        if (inCutover) {
            lease.disarm(shard.shard(), ShardPhase.COPIED);
        }
    }
}
