/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** Statements about photos that tests give to a router. */
public final class Photos {

    private Photos() {}

    /** Inserts a photo and returns its id. */
    public static long insert(ShardTransaction tx, long uid, String title) throws SQLException {
        try (PreparedStatement insert = tx.connection()
                .prepareStatement(
                        tx.sql("INSERT INTO ${shard.schema}.photo (uid, title) VALUES (?, ?) RETURNING id"))) {
            insert.setLong(1, uid);
            insert.setString(2, title);
            try (ResultSet row = insert.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }

    /** How many photos a user has. */
    public static long count(ShardTransaction tx, long uid) throws SQLException {
        try (PreparedStatement count =
                tx.connection().prepareStatement(tx.sql("SELECT count(*) FROM ${shard.schema}.photo WHERE uid = ?"))) {
            count.setLong(1, uid);
            try (ResultSet row = count.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }
}
