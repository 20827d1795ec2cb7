/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Set;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.SqlText;

/** Writes names for people to read: in quotes only if SQL needs them. */
record SqlNames(Set<String> keywords) {

    static SqlNames read(Connection connection) throws SQLException {
        return new SqlNames(new HashSet<>(Sql.list(
                connection, "SELECT word FROM pg_get_keywords() WHERE catcode <> 'U'", row -> row.getString(1))));
    }

    String written(String name) {
        return keywords.contains(name) ? SqlText.name(name) : TableName.written(name);
    }
}
