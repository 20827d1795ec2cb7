/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/** The other server of a move, to which shards are copied and on which their copies follow them, or from which the shards came. */
public interface Follower {

    /** The server that has the copies. */
    String server();

    /** The number of the move. */
    long move();

    /** A follower whose move is locked, so that no shard is cut over while a deployment changes both the shard and its copy. */
    interface Held extends Follower {

        /** Opens a session on the server that has the shards. It ends when another command takes over the move. */
        Connection connectToShards() throws SQLException;

        /** Opens a session on the server that has the copies. */
        Connection connectToCopies() throws SQLException;

        /** The first statement of each transaction on the shards' server, which fails if another command has taken over the move. */
        String shardsClaim();

        /** The first statement of each transaction on the copies' server, which fails if another command has taken over the move. */
        String copiesClaim();

        /** Whether the copies receive everything committed so far within this time. */
        boolean catchesUp(Duration atMost) throws SQLException;

        /** Whether replication can include tables that are created from now on. */
        boolean learnsTables();

        /** Adds tables that both servers have got to replication, and waits until the copies have all rows. */
        void learnTables() throws SQLException;

        /** Called when one of the two servers has been changed and the other has not. */
        default void halfDone() {}
    }
}
