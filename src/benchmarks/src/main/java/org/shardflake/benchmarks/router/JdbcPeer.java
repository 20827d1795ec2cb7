/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.Connection;
import java.sql.SQLException;

/** A way to a shard that hands out connections and leaves statements and transactions to the application. */
abstract class JdbcPeer implements Peer {

    final Layout layout;

    JdbcPeer(Layout layout) {
        this.layout = layout;
    }

    abstract Connection connection(int shard) throws SQLException;

    abstract String table(int shard);

    @Override
    public Photo select(long id) throws SQLException {
        int shard = Layout.shardOfId(id);
        try (Connection connection = connection(shard)) {
            return HandWritten.select(connection, table(shard), id);
        }
    }

    @Override
    public Photo selectInTransaction(long id) throws SQLException {
        int shard = Layout.shardOfId(id);
        try (Connection connection = connection(shard)) {
            connection.setReadOnly(true);
            connection.setAutoCommit(false);
            Photo photo = HandWritten.select(connection, table(shard), id);
            connection.commit();
            return photo;
        }
    }

    @Override
    public long insert(long uid, String title) throws SQLException {
        int shard = layout.shardOfUid(uid);
        try (Connection connection = connection(shard)) {
            return HandWritten.insert(connection, table(shard), uid, title);
        }
    }

    @Override
    public long insertInTransaction(long uid, String title) throws SQLException {
        int shard = layout.shardOfUid(uid);
        try (Connection connection = connection(shard)) {
            connection.setAutoCommit(false);
            long id = HandWritten.insert(connection, table(shard), uid, title);
            connection.commit();
            return id;
        }
    }
}
