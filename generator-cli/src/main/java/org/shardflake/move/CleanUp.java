/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.SQLException;
import java.util.List;
import org.shardflake.ShardSet;
import org.shardflake.deploy.ShardSchemaCopy;
import org.shardflake.jdbc.Sql;

/** Takes everything of a move off the servers, except for the shards where the catalog has them. Can be done again at any time. */
final class CleanUp {

    private final MoveSession session;
    private final MoveListener listener;

    CleanUp(MoveSession session, MoveListener listener) {
        this.session = session;
        this.listener = listener;
    }

    void run() throws SQLException {
        Move move = session.move();
        listener.reached(MoveStep.ENDING);
        session.reverse().drop();
        listener.reached(MoveStep.REVERSE_DROPPED);
        session.forward().drop();
        listener.reached(MoveStep.FORWARD_DROPPED);
        for (MoveSide side : sides()) {
            Sql.execute(side.control(), "SET synchronous_commit = off");
        }
        for (MoveShard shard : move.shards()) {
            MoveSide other = shard.server().equals(move.source()) ? session.target() : session.source();
            dropCopy(shard, other);
        }
        for (MoveSide side : sides()) {
            // A commit that waits for the disk, and so for all drops before it.
            Sql.execute(side.control(), "RESET synchronous_commit");
            Sql.call(side.control(), "DELETE FROM shardflake.move_claim WHERE move = ?", move.tag());
        }
        listener.reached(MoveStep.CLEANED);
        session.lease().end(move.phase() == MovePhase.COMPLETING ? "move completed" : "move cancelled");
    }

    private List<MoveSide> sides() {
        return List.of(session.source(), session.target());
    }

    /** The copy on the server that the catalog does not name, which must be closed: an open one would be the wrong one. */
    private void dropCopy(MoveShard shard, MoveSide side) throws SQLException {
        ShardSet its = ShardSet.of(shard.shard());
        if (side.present(its).isEmpty()) {
            return;
        }
        String forget =
                ShardSchemaCopy.hasHistory(side.control()) ? ShardSchemaCopy.forgetSql(shard.shard()) + ";\n" : "";
        Sql.execute(
                side.control(),
                side.checkClaim()
                        + "DO $$ BEGIN IF EXISTS (SELECT FROM shardflake.fences(%1$d)) AND NOT shardflake.is_fenced(%1$d) THEN RAISE 'shard %1$d takes writes here, where the shard map does not have it'; END IF; END $$;\n"
                                .formatted(shard.shard())
                        + forget
                        + "SELECT shardflake.drop_shard(%d, force => true)".formatted(shard.shard()));
        listener.reached(MoveStep.SHARD_DROPPED);
    }
}
