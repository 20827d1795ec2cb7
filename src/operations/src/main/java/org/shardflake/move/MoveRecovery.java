/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Array;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.exception.StreamLostException;
import org.shardflake.move.internal.session.MoveServerSession;
import org.shardflake.move.internal.session.OpenShard;
import org.shardflake.move.internal.session.Seal;
import org.shardflake.replication.StreamTrouble;

/**
 * Reconciles the servers with the catalog after any interruption: a shard's server accepts its writes, the other one does not, and changes are
 * replicated to the other one.
 */
final class MoveRecovery {

    private static final Duration LOOK = Duration.ofSeconds(1);

    private final MoveSession session;
    private final Duration patience;
    private final MoveListener listener;

    /**
     * @param patience how long to wait for what a server has not received yet
     */
    MoveRecovery(MoveSession session, Duration patience, MoveListener listener) {
        this.session = session;
        this.patience = patience;
        this.listener = listener;
    }

    void run() throws SQLException {
        takeLostBack();
        Move move = session.move();
        ShardSet shards = move.shardSet();
        ShardSet fencedOnSource = session.source().fenced(shards);
        boolean closedOnSource = move.shards().stream()
                .anyMatch(shard -> shard.server().equals(move.source()) && fencedOnSource.contains(shard.shard()));
        if (!closedOnSource && session.target().present(shards).isEmpty()) {
            return; // Nothing was started, and the source never closed.
        }
        checkCatalogIsNewest(session.source(), move);
        checkCatalogIsNewest(session.target(), move);
        if (move.phase() == MovePhase.FOLLOWING) {
            follow(shards);
        }
        ShardSet fencedOnTarget = session.target().fenced(shards);
        ShardSet stoppedOnSource = session.source().stopped(shards);
        ShardSet stoppedOnTarget = session.target().stopped(shards);
        Map<Integer, List<String>> tables = session.source().tables(shards);
        for (MoveShard shard : move.shards()) {
            boolean onSource = shard.server().equals(move.source());
            boolean inCutover = shard.phase() == ShardPhase.CUTTING_OVER;
            if (inCutover) {
                // Before anything is opened: no earlier attempt may change the map from now on.
                session.lease().disarm(shard.shard(), ShardPhase.CUTTING_OVER);
            }
            ShardSet fencedHere = onSource ? fencedOnSource : fencedOnTarget;
            ShardSet fencedThere = onSource ? fencedOnTarget : fencedOnSource;
            MoveServerSession other = session.carrying(shard).subscriber();
            if (!fencedThere.contains(shard.shard())
                    && other.present(ShardSet.of(shard.shard())).contains(shard.shard())) {
                Sql.execute(
                        other.control(),
                        other.checkClaim()
                                + OpenShard.recordSql(shard.shard(), shard.epoch(), false)
                                + "SELECT shardflake.fence_shard(%s)".formatted(shard.shard()));
            }
            if (fencedHere.contains(shard.shard())) {
                open(shard, tables.getOrDefault(shard.shard(), List.of()));
            } else if ((onSource ? stoppedOnSource : stoppedOnTarget).contains(shard.shard())) {
                // Its fence was rolled back, but not the stop of its ids.
                MoveServerSession here = session.carrying(shard).publisher();
                Sql.execute(here.control(), here.checkClaim() + OpenShard.finishSql(shard.shard()));
            }
            if (inCutover) {
                // Not before it is open: while it is closed, this tells why.
                session.lease().disarm(shard.shard(), onSource ? ShardPhase.COPIED : ShardPhase.SWITCHED);
            }
        }
    }

    /**
     * Returns to the source the shards that the target lost together with their cutover, in a restore or a failover to a standby that was
     * behind. The source's record shows that it has every row until its fence, and its copy has what has come back since. The target's copy
     * must be fenced, or gone: an open one is from before an earlier move, and may have taken writes.
     */
    private void takeLostBack() throws SQLException {
        Move move = session.move();
        ShardSet onTarget = ShardSet.of(move.shards().stream()
                .filter(shard -> shard.server().equals(move.target()))
                .map(MoveShard::shard)
                .toList());
        if (onTarget.isEmpty() || session.reverse().isUnbroken()) {
            return; // The target is where the cutover went.
        }
        Map<Integer, Long> got = session.target().gotShards();
        Map<Integer, Long> gaveUp = session.source().gaveUpShards();
        ShardSet onSource = session.source().present(onTarget);
        ShardSet copies = session.target().present(onTarget);
        ShardSet fenced = session.target().fenced(onTarget);
        List<MoveShard> lost = move.shards().stream()
                .filter(shard -> onSource.contains(shard.shard())
                        && gaveUp.getOrDefault(shard.shard(), 0L) == shard.epoch()
                        && got.getOrDefault(shard.shard(), 0L) < shard.epoch()
                        && (fenced.contains(shard.shard()) || !copies.contains(shard.shard())))
                .toList();
        if (lost.isEmpty()) {
            return;
        }
        session.lease().enter(MovePhase.FOLLOWING); // No end of it is true any more, and seals come off.
        for (MoveShard shard : lost) {
            long attempt = session.lease().arm(shard.shard());
            session.lease().switchShard(shard, attempt, move.source(), ShardPhase.COPIED, 0);
        }
    }

    /** Reopens shards that were closed for an unfinished last comparison. */
    private void follow(ShardSet shards) throws SQLException {
        MoveServerSession source = session.source();
        for (int shard : Seal.sealed(source.control(), shards).stream().toArray()) {
            Poll.Reason reason =
                    () -> "the copy of shard %s on %s cannot follow again, since sessions there hold its tables: %s"
                            .formatted(shard, source.name(), source.holders(shard));
            if (!Poll.everyMillis(200, patience).until(() -> takeOff(source, shard), reason, listener::waits)) {
                throw new MoveException(reason.get() + ". End them, and run the same command again");
            }
        }
        // Not if it was stopped since a copy differed, until someone has looked at that.
        if (session.reverse().isDisabled() && Mover.different(session.move()).isEmpty()) {
            session.reverse().enable();
        }
    }

    /** Removes the seal; waits only briefly for readers, since other sessions would queue behind it. */
    private static boolean takeOff(MoveServerSession side, int shard) throws SQLException {
        try {
            Seal.takeOff(side, shard);
            return true;
        } catch (SQLException e) {
            if (Sql.isInTheWay(e)) {
                return false;
            }
            throw e;
        }
    }

    /** Refuses a restored catalog, which describes an earlier state: following it would close the newest rows. */
    static void checkCatalogIsNewest(MoveServerSession side, Move move) throws SQLException {
        Map<Integer, Long> here = side.gotShards();
        for (MoveShard shard : move.shards()) {
            long epoch = here.getOrDefault(shard.shard(), 0L);
            if (epoch > shard.epoch()) {
                throw new MoveRefusedException(
                        "%s got shard %s with epoch %s, and the catalog has %s: the catalog is older than the servers, as after a restore, and nothing was changed"
                                .formatted(side.name(), shard.shard(), epoch, shard.epoch()),
                        Advice.of("see %s", CliCommand.DOCTOR));
            }
        }
    }

    /** Opens a shard where the catalog has it. */
    private void open(MoveShard shard, List<String> tables) throws SQLException {
        Stream carrying = session.carrying(shard);
        Stream back = session.back(shard);
        MoveServerSession here = carrying.publisher();
        MoveServerSession other = carrying.subscriber();
        String handOver = "";
        if (shard.mark().isPresent()) {
            awaitLastWrites(shard, shard.mark().getAsLong(), back);
            handOver = back.handOverSql(shard.mark().getAsLong());
        }
        Set<String> alreadyPublished = carrying.published();
        List<String> toAdd = new ArrayList<>(tables);
        toAdd.removeAll(alreadyPublished);
        List<String> toRemove = new ArrayList<>(tables);
        toRemove.retainAll(back.published());
        if (!toRemove.isEmpty()) {
            Sql.execute(other.control(), other.checkClaim() + back.removeSql(toRemove));
        }
        List<Array[]> positions = Sql.list(
                other.control(),
                "SELECT array_agg(sequence_name), array_agg(last_value) FROM shardflake.sequence_positions(?)",
                row -> new Array[] {row.getArray(1), row.getArray(2)},
                shard.shard());
        Sql.execute(
                here.control(),
                here.checkClaim()
                        + handOver
                        + OpenShard.whereItIsSql(
                                shard.shard(),
                                shard.epoch(),
                                positions.get(0)[0],
                                positions.get(0)[1],
                                carrying.addSql(toAdd)));
    }

    /** Waits until the last writes have arrived. Ending sooner would open nothing, so this ends only when waiting is pointless. */
    private void awaitLastWrites(MoveShard shard, long mark, Stream back) throws SQLException {
        long end = System.nanoTime() + patience.toNanos();
        String told = "";
        while (!back.reaches(mark, Math.min(end, System.nanoTime() + LOOK.toNanos()))) {
            Optional<StreamTrouble> trouble = back.trouble(0);
            String closed =
                    "shard %1$s is %2$s's, which has not received all that was written on %3$s yet, so neither takes writes%4$s"
                            .formatted(
                                    shard.shard(),
                                    back.subscriber().name(),
                                    back.publisher().name(),
                                    trouble.map(its -> ": " + its.what()).orElse(""));
            if (trouble.filter(its -> its.outlook() == StreamTrouble.Outlook.ENDING)
                    .isPresent()) {
                throw new StreamLostException(closed);
            }
            if (System.nanoTime() - end > 0
                    || trouble.filter(its -> its.outlook() == StreamTrouble.Outlook.LASTING)
                            .isPresent()) {
                throw new MoveException("%s. Make sure that %s can reach %s, and run the same command again"
                        .formatted(
                                closed,
                                back.subscriber().name(),
                                back.publisher().name()));
            }
            if (!closed.equals(told)) {
                told = closed;
                listener.streamFails(closed);
            }
        }
    }
}
