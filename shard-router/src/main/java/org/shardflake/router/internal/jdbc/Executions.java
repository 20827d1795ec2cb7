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

    /** The text to send in place of the text given to a statement. */
    default String text(String sql) throws SQLException {
        return sql;
    }

    /** Called before a statement's user gets the driver's own statement. */
    default void unwrapped() throws SQLException {}

    /** Executes a batch, whose result is its counts: {@code int[]} or {@code long[]}, empty if nothing was executed. */
    default <T> T executeBatch(Execution<T> execution) throws SQLException {
        return execute(execution);
    }

    /** Wraps the rows that a statement returned for its user. */
    default ResultSet rows(ResultSet rows, Statement statement) throws SQLException {
        return rows;
    }

    /** The connection that a statement's user sees as the statement's own. */
    Connection connection();
}
