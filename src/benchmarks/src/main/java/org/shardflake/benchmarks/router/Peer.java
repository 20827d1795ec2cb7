/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.benchmarks.router.Peer.JdbcPeer;
import org.shardflake.benchmarks.router.Peer.Photo;

/** A candidate: a way to reach the right shard. Thread-safe; whoever opened it closes it. */
interface Peer extends AutoCloseable {

    /** Reads a row by its id, outside a transaction. */
    Photo select(long id) throws SQLException;

    /** Reads a row by its id in a read-only transaction. */
    Photo selectInTransaction(long id) throws SQLException;

    /** Inserts a row, outside a transaction, and returns the id that the database gave it. */
    long insert(long uid, String title) throws SQLException;

    /** Inserts a row in a transaction, and returns the id that the database gave it. */
    long insertInTransaction(long uid, String title) throws SQLException;

    /** The rows of ids of many shards, in any order. */
    List<Photo> photos(List<Long> ids) throws SQLException;

    /** The rows with the highest ids of all shards, the highest first. */
    List<Photo> newest(int limit) throws SQLException;

    @Override
    void close();

    /** A row, as every candidate hands it out. */
    record Photo(long id, long uid, String title) {

        static Photo of(ResultSet row) throws SQLException {
            return new Photo(row.getLong("id"), row.getLong("uid"), row.getString("title"));
        }
    }

    /** A way to a shard that hands out connections and leaves statements and transactions to the application. */
    abstract static class JdbcPeer implements Peer {

        final Layout layout;

        JdbcPeer(Layout layout) {
            this.layout = layout;
        }

        abstract Connection connection(int shard) throws SQLException;

        abstract String table(int shard);

        /** Reads a row on a connection to its shard. */
        Photo select(Connection connection, int shard, long id) throws SQLException {
            return HandWritten.select(connection, table(shard), id);
        }

        /** Inserts a row on a connection to its shard, and returns its id. */
        long insert(Connection connection, int shard, long uid, String title) throws SQLException {
            return HandWritten.insert(connection, table(shard), uid, title);
        }

        @Override
        public Photo select(long id) throws SQLException {
            int shard = Layout.shardOfId(id);
            try (Connection connection = connection(shard)) {
                return select(connection, shard, id);
            }
        }

        @Override
        public Photo selectInTransaction(long id) throws SQLException {
            int shard = Layout.shardOfId(id);
            try (Connection connection = connection(shard)) {
                connection.setReadOnly(true);
                connection.setAutoCommit(false);
                Photo photo = select(connection, shard, id);
                connection.commit();
                return photo;
            }
        }

        @Override
        public long insert(long uid, String title) throws SQLException {
            int shard = layout.shardOfUid(uid);
            try (Connection connection = connection(shard)) {
                return insert(connection, shard, uid, title);
            }
        }

        @Override
        public long insertInTransaction(long uid, String title) throws SQLException {
            int shard = layout.shardOfUid(uid);
            try (Connection connection = connection(shard)) {
                connection.setAutoCommit(false);
                long id = insert(connection, shard, uid, title);
                connection.commit();
                return id;
            }
        }
    }

    /** JDBC on a pool of the right server, which is found by arithmetic: the limit. */
    static class BareJdbc extends JdbcPeer {

        private final List<HikariDataSource> pools;
        private final HandWritten statements;

        BareJdbc(Layout layout, int newest) {
            super(layout);
            this.pools = layout.pools();
            this.statements = new HandWritten(layout, newest);
        }

        @Override
        Connection connection(int shard) throws SQLException {
            return pools.get(layout.server(shard)).getConnection();
        }

        @Override
        String table(int shard) {
            return Layout.table(shard);
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
}
