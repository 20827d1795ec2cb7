/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/** The server to which a move's shards are copied and on which their copies follow them, or from which they came. */
public interface Follower {

    /** The server that has the copies. */
    String server();

    /** The number of the move. */
    long move();

    /** A follower whose move is held, so that no shard is cut over while a deployment changes shard and copy alike. */
    interface Held extends Follower {

        /** Opens a session of the server that has the shards. It ends when another command takes over the move. */
        Connection connectToShards() throws SQLException;

        /** Opens a session of the server that has the copies, with the same end. */
        Connection connectToCopies() throws SQLException;

        /** The first statement of each transaction on the server that has the shards: it fails once another command has the move. */
        String shardsClaim();

        /** The same for the copies. */
        String copiesClaim();

        /** Whether the copies get everything committed until now in this time. */
        boolean catchesUp(Duration atMost) throws SQLException;

        /** Whether the copies can follow in tables that are created from now on. */
        boolean learnsTables();

        /** Has the copies follow in tables that both servers have got, and returns when they have all rows. */
        void learnTables() throws SQLException;

        /** Called when one of the two has been changed, and the other not yet. */
        default void halfDone() {}
    }
}
