/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.split;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.CleanUp;
import org.shardflake.move.Move;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.internal.session.MoveServerSession;

/** The copies of shards that a promoted standby has but was not given. They have refused writes since nobody could write there. */
final class StandbyCopies {

    /** Finds the shards that are still marked as closed; shards that a move has brought since are open, or in the catalog with that move. */
    private static final String PRESENT = """
            SELECT p.shard FROM shardflake.placement p JOIN pg_namespace n ON n.nspname = shardflake.shard_schema(p.shard)
             WHERE NOT p.here AND p.epoch = 0 ORDER BY 1
            """;

    private final MoveServerSession side;
    private final ShardMap map;
    private final List<Move> moves;
    private final Duration patience;
    private final SplitListener listener;

    StandbyCopies(MoveServerSession side, ShardMap map, List<Move> moves, Duration patience, SplitListener listener) {
        this.side = side;
        this.map = map;
        this.moves = moves;
        this.patience = patience;
        this.listener = listener;
    }

    /**
     * Removes the copies, and returns their shards.
     *
     * @throws MoveException if some are left
     */
    ShardSet drop() throws SQLException {
        List<Integer> copies = present().stream()
                .filter(shard -> shard < map.sharding().shardCount()
                        && !map.server(shard).name().equals(side.name())
                        && moves.stream().noneMatch(move -> move.shardSet().contains(shard)))
                .toList();
        for (int shard : copies) {
            Optional<String> kept =
                    CleanUp.dropClosed(side, shard, patience, listener::waits, () -> requirePresent(shard));
            if (kept.isPresent()) {
                throw new MoveException(Kind.PARTLY_DONE, kept.get(), "end them, and run the same command again");
            }
            listener.reached(SplitStep.COPY_DROPPED);
        }
        List<Integer> left = present();
        if (!left.isEmpty()) {
            throw new MoveException(
                    Kind.PARTLY_DONE,
                    "copies of %s on %s are left: they are in a move, or the shard map gives them to %s or does not have them"
                            .formatted(Plural.shards(ShardSet.of(left)), side.name(), side.name()),
                    Advice.of("end the move, or see %s, and run the same command again", CliCommand.DOCTOR));
        }
        return ShardSet.of(copies);
    }

    private List<Integer> present() throws SQLException {
        return Sql.list(side.control(), PRESENT, row -> row.getInt(1));
    }

    private void requirePresent(int shard) throws SQLException {
        if (!present().contains(shard)) {
            throw new MoveException(
                    "shard %s was opened on %s in the meantime, so it is kept".formatted(shard, side.name()));
        }
    }
}
