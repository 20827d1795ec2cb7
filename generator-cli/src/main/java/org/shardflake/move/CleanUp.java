/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.SQLException;
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
        for (MoveShard shard : move.shards()) {
            MoveSide other = shard.server().equals(move.source()) ? session.target() : session.source();
            dropCopy(shard, other);
        }
        for (MoveSide side : new MoveSide[] {session.source(), session.target()}) {
            Sql.call(side.control(), "DELETE FROM shardflake.move_claim WHERE move = ?", move.tag());
        }
        listener.reached(MoveStep.CLEANED);
        session.lease().end(move.phase() == MovePhase.COMPLETING ? "move completed" : "move cancelled");
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
