/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.jdbc.Sql;

/** Checks whether two servers have the same function library, with the same epoch. */
public final class SameLibrary {

    /** The deployment history of the function library, with its checksums. */
    private static final String HISTORY =
            "SELECT concat_ws(' ', string_agg(concat_ws(' ', id, md5sum), ' ' ORDER BY id)) FROM shardflake.databasechangelog";

    /** The epoch recorded permanently, and the one in use. */
    private static final String EPOCHS =
            "SELECT concat_ws(' ', (SELECT epoch_ms FROM shardflake.layout), shardflake.epoch_ms())";

    private SameLibrary() {}

    public static boolean isOn(Connection from, Connection to) throws SQLException {
        // In this order: what was interrupted has a history before it has an epoch.
        return hasHistory(from) && hasHistory(to) && areEqual(HISTORY, from, to) && areEqual(EPOCHS, from, to);
    }

    private static boolean areEqual(String sql, Connection from, Connection to) throws SQLException {
        return Sql.text(from, sql).equals(Sql.text(to, sql));
    }

    private static boolean hasHistory(Connection connection) throws SQLException {
        return Sql.isTrue(connection, "SELECT to_regclass('shardflake.databasechangelog') IS NOT NULL");
    }
}
