/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server.internal;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.CachedQuery;
import org.postgresql.core.Field;
import org.postgresql.core.ParameterList;
import org.postgresql.core.Query;
import org.postgresql.core.QueryExecutor;
import org.postgresql.core.ResultCursor;
import org.postgresql.core.ResultHandlerBase;
import org.postgresql.core.TransactionState;
import org.postgresql.core.Tuple;
import org.postgresql.ds.PGSimpleDataSource;
import org.postgresql.util.ByteConverter;

/**
 * A connection of the driver, with features that JDBC lacks: the state of the transaction, and a query that the server answers in the round
 * trip of a commit.
 */
public final class DriverSession {

    private final BaseConnection driver;

    private DriverSession(BaseConnection driver) {
        this.driver = driver;
    }

    /** The driver's session behind a connection, which a pool may have wrapped. */
    public static DriverSession of(Connection connection) throws SQLException {
        return new DriverSession(connection.unwrap(BaseConnection.class));
    }

    /** Whether no transaction is open in the session. */
    public boolean isIdle() {
        return driver.getTransactionState() == TransactionState.IDLE;
    }

    /** Whether a transaction is open in which no statement has failed. */
    public boolean isOpen() {
        return driver.getTransactionState() == TransactionState.OPEN;
    }

    /** Whether a statement of the transaction has failed, so that it can no longer be committed. */
    public boolean isFailed() {
        return driver.getTransactionState() == TransactionState.FAILED;
    }

    public boolean isClosed() throws SQLException {
        return driver.isClosed();
    }

    /** Cancels the running statement; called from another thread. */
    public void cancel() throws SQLException {
        driver.cancelQuery();
    }

    public Statement createStatement() throws SQLException {
        return driver.createStatement();
    }

    /** Resets the driver's own settings of a session to those of a data source. */
    public void resetSettings(PGSimpleDataSource source) throws SQLException {
        driver.setTypeMap(Map.of());
        driver.setHoldability(ResultSet.CLOSE_CURSORS_AT_COMMIT);
        driver.setPrepareThreshold(source.getPrepareThreshold());
        driver.setDefaultFetchSize(source.getDefaultRowFetchSize());
        driver.setAutosave(source.getAutosave());
    }

    /**
     * Runs a query for one bigint together with the commit that follows it in the text, in one round trip and without a BEGIN.
     *
     * @param sql with one parameter
     * @param type the OID of the parameter's type
     * @param prepares whether the statements may be kept prepared
     * @return null if the query returns no row, or null
     */
    public @Nullable Long askAndCommit(String sql, String parameter, int type, boolean prepares) throws SQLException {
        QueryExecutor executor = driver.getQueryExecutor();
        CachedQuery both = executor.borrowQuery(sql);
        try {
            int flags = QueryExecutor.QUERY_SUPPRESS_BEGIN | (prepares ? 0 : QueryExecutor.QUERY_ONESHOT);
            ParameterList parameters = both.query.createParameterList();
            if (parameters == null) {
                throw new IllegalStateException("the driver found no parameter in: " + sql);
            }
            parameters.setStringParameter(1, parameter, type);
            Answer answer = new Answer();
            executor.execute(both.query, parameters, answer, 0, 0, flags);
            return answer.value;
        } finally {
            executor.releaseQuery(both);
        }
    }

    /** Receives the answer, and throws the first error. */
    private static final class Answer extends ResultHandlerBase {

        private @Nullable Long value;

        @Override
        public void handleResultRows(Query query, Field[] fields, List<Tuple> rows, @Nullable ResultCursor cursor) {
            byte[] sent = rows.isEmpty() ? null : rows.get(0).get(0);
            if (sent != null) {
                value = fields[0].getFormat() == Field.BINARY_FORMAT
                        ? ByteConverter.int8(sent, 0)
                        : Long.parseLong(new String(sent, StandardCharsets.US_ASCII));
            }
        }

        @Override
        public void handleWarning(SQLWarning warning) {
            // Nobody reads the warnings of a commit.
        }
    }
}
