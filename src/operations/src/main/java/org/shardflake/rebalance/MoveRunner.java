/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.util.List;
import org.shardflake.ShardSet;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;

/** Moves shards for a plan. */
public interface MoveRunner {

    /** Carries out each move with this mover. */
    static MoveRunner with(Mover mover, String reason) {
        return new MoveRunner() {
            @Override
            public List<Move> unfinished() {
                return mover.moves();
            }

            @Override
            public void finish(Move move) {
                mover.carryOut(move, false);
            }

            @Override
            public void move(String from, String to, ShardSet shards) {
                finish(mover.begin(from, to, shards, reason));
            }
        };
    }

    /** All unfinished moves, oldest first. */
    List<Move> unfinished();

    /** Carries out an interrupted move from where it stands. */
    void finish(Move move) throws InterruptedException;

    /**
     * Moves shards, and returns when the shard map has all of them on the target. When called again for shards whose move was
     * interrupted, it continues that move.
     */
    void move(String from, String to, ShardSet shards) throws InterruptedException;
}
