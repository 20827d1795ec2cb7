/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.parallel;

import org.shardflake.ShardSet;
import org.shardflake.move.Move;

/** Shards to move from one server to another. */
public record MoveRequest(String source, String target, ShardSet shards) {

    /** A request to continue an interrupted move. */
    public static MoveRequest of(Move move) {
        return new MoveRequest(move.source(), move.target(), move.shardSet());
    }

    /** The request that moves the same shards back. */
    public MoveRequest home() {
        return new MoveRequest(/* source= */ target, /* target= */ source, shards);
    }

    boolean uses(String server) {
        return source.equals(server) || target.equals(server);
    }

    @Override
    public String toString() {
        return "from %s to %s".formatted(source, target);
    }
}
