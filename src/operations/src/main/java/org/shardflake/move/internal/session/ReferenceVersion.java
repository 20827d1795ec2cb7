/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.jdbc.Sql;

/** The version of the reference tables on a server, which a shard's rows may refer to. */
public final class ReferenceVersion {

    private ReferenceVersion() {}

    /** Whether the server's function library supports reference tables. */
    public static boolean isKept(Connection connection) throws SQLException {
        return Sql.isTrue(connection, "SELECT to_regclass('shardflake.reference_version') IS NOT NULL");
    }

    /** The version on a server: a server has every row of another one if its version is not lower; 0 if there were never any rows. */
    public static long of(Connection connection) throws SQLException {
        return Sql.number(connection, "SELECT version FROM shardflake.reference_version");
    }
}
