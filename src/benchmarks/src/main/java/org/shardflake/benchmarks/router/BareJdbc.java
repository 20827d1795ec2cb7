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
final class BareJdbc extends JdbcPeer {

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
