/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.jdbc;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Executes the statements of a {@link ReportingStatement}. */
public interface Executions {

    /** The execution of a statement. */
    @FunctionalInterface
    interface Execution<T> {
        T run() throws SQLException;
    }

    default <T> T execute(Execution<T> execution) throws SQLException {
        return execution.run();
    }

    /** The text to send for one that a statement is to execute. */
    default String text(String sql) throws SQLException {
        return sql;
    }

    /** Called before a statement's user gets the driver's own statement. */
    default void unwrapped() throws SQLException {}

    /** The same for a batch, whose counts are the result: {@code int[]} or {@code long[]}, empty if nothing was executed. */
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
