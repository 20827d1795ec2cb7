/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.sql.SQLException;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardTransaction;
import org.shardflake.server.SessionFailedException;

/** Reads a lookup's rows through the router, whose sessions do not know their server's name. */
final class ShardReads {

    private ShardReads() {}

    /** Runs a read, and names the server if row-level security would hide rows from it. */
    static <T> T run(ShardTransaction tx, Sql.Work<T> read) throws SQLException {
        try {
            return read.run();
        } catch (SQLException e) {
            throw SessionFailedException.hidden(tx.placement().server().name(), e);
        }
    }
}
