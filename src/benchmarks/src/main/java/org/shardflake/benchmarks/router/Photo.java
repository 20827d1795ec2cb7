/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.ResultSet;
import java.sql.SQLException;

/** A row, as every candidate hands it out. */
record Photo(long id, long uid, String title) {

    static Photo of(ResultSet row) throws SQLException {
        return new Photo(row.getLong("id"), row.getLong("uid"), row.getString("title"));
    }
}
