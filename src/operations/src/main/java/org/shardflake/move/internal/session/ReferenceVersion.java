/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.jdbc.Sql;

/** The version of reference tables on a server, to which the rows of shards may refer. */
public final class ReferenceVersion {

    private ReferenceVersion() {}

    /** Whether the server's function library knows of reference tables. */
    public static boolean isKept(Connection connection) throws SQLException {
        return Sql.isTrue(connection, "SELECT to_regclass('shardflake.reference_version') IS NOT NULL");
    }

    /** A server has every row that another one has if its version is not lower; 0 if there have never been any. */
    public static long of(Connection connection) throws SQLException {
        return Sql.number(connection, "SELECT version FROM shardflake.reference_version");
    }
}
