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
import java.util.Set;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;

/**
 * Brings the servers to what the catalog says, whatever was interrupted where: the server that has a shard takes its writes, the
 * other one does not, and changes go from the one to the other.
 */
final class Settlement {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final MoveSession session;

    Settlement(MoveSession session) {
        this.session = session;
    }

    void run() throws SQLException {
        Move move = session.move();
        ShardSet shards = move.shardSet();
        if (session.target().present(shards).isEmpty()) {
            return; // Nothing was begun, and the source never closed.
        }
        ShardSet fencedOnSource = session.source().fenced(shards);
        ShardSet fencedOnTarget = session.target().fenced(shards);
        ShardSet stoppedOnSource = session.source().stopped(shards);
        ShardSet stoppedOnTarget = session.target().stopped(shards);
        Map<Integer, List<String>> tables = session.source().tables(shards);
        for (MoveShard shard : move.shards()) {
            boolean onSource = shard.server().equals(move.source());
            if (shard.phase() == ShardPhase.CUTTING_OVER) {
                // Before anything is opened: no attempt of before may change the map from now on.
                session.lease().disarm(shard.shard(), onSource ? ShardPhase.COPIED : ShardPhase.SWITCHED);
            }
            ShardSet fencedHere = onSource ? fencedOnSource : fencedOnTarget;
            ShardSet fencedThere = onSource ? fencedOnTarget : fencedOnSource;
            MoveSide other = session.carrying(shard).subscriber();
            if (!fencedThere.contains(shard.shard())
                    && other.present(ShardSet.of(shard.shard())).contains(shard.shard())) {
                Sql.execute(
                        other.control(),
                        other.checkClaim() + "SELECT shardflake.fence_shard(%d)".formatted(shard.shard()));
            }
            if (fencedHere.contains(shard.shard())) {
                open(shard, tables.getOrDefault(shard.shard(), List.of()));
            } else if ((onSource ? stoppedOnSource : stoppedOnTarget).contains(shard.shard())) {
                // Its fence was rolled back, and the ids that it had stopped were not.
                MoveSide here = session.carrying(shard).publisher();
                Sql.execute(here.control(), here.checkClaim() + OpenShard.finishSql(shard.shard()));
            }
        }
    }

    /** Opens a shard where the catalog has it. */
    private void open(MoveShard shard, List<String> tables) throws SQLException {
        Stream carrying = session.carrying(shard);
        Stream back = session.back(shard);
        MoveSide here = carrying.publisher();
        MoveSide other = carrying.subscriber();
        if (shard.mark().isPresent()
                && !back.reaches(shard.mark().getAsLong(), System.nanoTime() + PATIENCE.toNanos())) {
            throw new MoveException(
                    "shard %d is %s's, which has not got all that was written on %s yet, so neither takes writes. See that %s can reach %s, and run the same command again"
                            .formatted(shard.shard(), here.name(), other.name(), here.name(), other.name()));
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
                        // They may go on already, when opening was interrupted at its end.
                        + "SELECT shardflake.fence_ids(%d, true);\n".formatted(shard.shard())
                        + OpenShard.prepareSql(
                                shard.shard(), positions.get(0)[0], positions.get(0)[1])
                        + carrying.addSql(toAdd)
                        + OpenShard.finishSql(shard.shard()));
    }
}
