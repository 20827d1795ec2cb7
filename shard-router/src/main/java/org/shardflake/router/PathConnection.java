/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;

/**
 * A connection on which a table without a schema is that of the shard.
 *
 * <p>The search_path is set before the first statement of a transaction, and ends with it. It is also set before a
 * savepoint, as a rollback to that would take it back.
 *
 * <p>The texts of prepared statements name the shard in a comment: PostgreSQL would plan a statement anew each time it
 * finds another search_path, and refuse one that returns other columns in another shard.
 */
class PathConnection extends ForwardingConnection {

    private final LentConnection lent;
    private final String mark;
    private boolean isSet;

    PathConnection(Connection connection, LentConnection lent) {
        super(connection);
        this.lent = lent;
        this.mark = "/* " + lent.schema() + " */ ";
    }

    /** Notes that a transaction, and with it the search_path, has ended. */
    final void forgetPath() {
        isSet = false;
    }

    /** Called before each use. */
    void beforeUse() throws SQLException {
        if (!isSet) {
            lent.searchShard();
            isSet = true;
        }
    }

    private String marked(String sql) throws SQLException {
        beforeUse();
        return mark + sql;
    }

    @Override
    public Savepoint setSavepoint() throws SQLException {
        beforeUse();
        return super.setSavepoint();
    }

    @Override
    public Savepoint setSavepoint(String name) throws SQLException {
        beforeUse();
        return super.setSavepoint(name);
    }

    @Override
    public Statement createStatement() throws SQLException {
        beforeUse();
        return super.createStatement();
    }

    @Override
    public Statement createStatement(int type, int concurrency) throws SQLException {
        beforeUse();
        return super.createStatement(type, concurrency);
    }

    @Override
    public Statement createStatement(int type, int concurrency, int holdability) throws SQLException {
        beforeUse();
        return super.createStatement(type, concurrency, holdability);
    }

    @Override
    public CallableStatement prepareCall(String sql) throws SQLException {
        beforeUse();
        return super.prepareCall(sql);
    }

    @Override
    public CallableStatement prepareCall(String sql, int type, int concurrency) throws SQLException {
        beforeUse();
        return super.prepareCall(sql, type, concurrency);
    }

    @Override
    public CallableStatement prepareCall(String sql, int type, int concurrency, int holdability) throws SQLException {
        beforeUse();
        return super.prepareCall(sql, type, concurrency, holdability);
    }

    @Override
    public PreparedStatement prepareStatement(String sql) throws SQLException {
        return super.prepareStatement(marked(sql));
    }

    @Override
    public PreparedStatement prepareStatement(String sql, int keys) throws SQLException {
        return super.prepareStatement(marked(sql), keys);
    }

    @Override
    public PreparedStatement prepareStatement(String sql, int[] columns) throws SQLException {
        return super.prepareStatement(marked(sql), columns);
    }

    @Override
    public PreparedStatement prepareStatement(String sql, String[] columns) throws SQLException {
        return super.prepareStatement(marked(sql), columns);
    }

    @Override
    public PreparedStatement prepareStatement(String sql, int type, int concurrency) throws SQLException {
        return super.prepareStatement(marked(sql), type, concurrency);
    }

    @Override
    public PreparedStatement prepareStatement(String sql, int type, int concurrency, int holdability)
            throws SQLException {
        return super.prepareStatement(marked(sql), type, concurrency, holdability);
    }
}
