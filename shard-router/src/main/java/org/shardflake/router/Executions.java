/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Executes what a {@link ReportingStatement} is told to. */
interface Executions {

    /** What executes a statement. */
    @FunctionalInterface
    interface Execution<T> {
        T run() throws SQLException;
    }

    <T> T execute(Execution<T> execution) throws SQLException;

    default <T> T executeBatch(Execution<T> execution) throws SQLException {
        return execute(execution);
    }

    /** The rows that a statement gave, as its user is to see them. */
    default ResultSet rows(ResultSet rows, Statement statement) throws SQLException {
        return rows;
    }

    /** The connection that the statement is of, for its user. */
    Connection connection();
}
