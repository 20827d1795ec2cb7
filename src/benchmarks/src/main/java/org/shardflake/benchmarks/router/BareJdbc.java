/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

/** JDBC on a pool of the right server, which is found by arithmetic: the limit. */
final class BareJdbc implements Peer {

    private final Layout layout;
    private final List<HikariDataSource> pools;
    private final HandWritten statements;

    BareJdbc(Layout layout, int newest) {
        this.layout = layout;
        this.pools = layout.pools();
        this.statements = new HandWritten(layout, newest);
    }

    private Connection connection(int shard) throws SQLException {
        return pools.get(layout.server(shard)).getConnection();
    }

    @Override
    public Photo select(long id) throws SQLException {
        int shard = Layout.shardOfId(id);
        try (Connection connection = connection(shard)) {
            return HandWritten.select(connection, HandWritten.select(shard), id);
        }
    }

    @Override
    public Photo selectInTransaction(long id) throws SQLException {
        int shard = Layout.shardOfId(id);
        try (Connection connection = connection(shard)) {
            connection.setReadOnly(true);
            connection.setAutoCommit(false);
            Photo photo = HandWritten.select(connection, HandWritten.select(shard), id);
            connection.commit();
            return photo;
        }
    }

    @Override
    public long insert(long uid, String title) throws SQLException {
        int shard = layout.shardOfUid(uid);
        try (Connection connection = connection(shard)) {
            return HandWritten.insert(connection, HandWritten.insert(shard), uid, title);
        }
    }

    @Override
    public long insertInTransaction(long uid, String title) throws SQLException {
        int shard = layout.shardOfUid(uid);
        try (Connection connection = connection(shard)) {
            connection.setAutoCommit(false);
            long id = HandWritten.insert(connection, HandWritten.insert(shard), uid, title);
            connection.commit();
            return id;
        }
    }

    @Override
    public List<Photo> photos(List<Long> ids) throws SQLException {
        return statements.photos(ids, this::onServer);
    }

    @Override
    public List<Photo> newest(int limit) throws SQLException {
        return statements.newest(limit, this::onServer);
    }

    private List<Photo> onServer(int server, HandWritten.Read read) throws SQLException {
        try (Connection connection = pools.get(server).getConnection()) {
            return read.run(connection);
        }
    }

    @Override
    public void close() {
        statements.close();
        pools.forEach(HikariDataSource::close);
    }
}
