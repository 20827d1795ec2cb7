/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGStatement;
import org.shardflake.CliCommand;
import org.shardflake.router.internal.connection.ShardConnections;
import org.shardflake.router.internal.jdbc.Executions;
import org.shardflake.router.internal.jdbc.ReportingPreparedStatement;
import org.shardflake.router.internal.jdbc.ReportingStatement;
import org.shardflake.router.internal.session.ReadSamples.Executed;
import org.shardflake.server.internal.DriverSession;

/**
 * A connection to the {@linkplain OldDatabase old database} that is leased for a shard. Each transaction asks for the shard before its first
 * statement, and holds it from then on: the shard cannot leave before the transaction ends.
 */
final class OldDatabaseConnection extends LeasedConnection {

    private static final String ENTER = "shardflake_adopt.enter(?)";
    private static final String NO_FUNCTION = "42883";
    private static final String NO_SCHEMA = "3F000";
    private static final String SERIALIZATION = "40001";
    private static final String LOCK_TIMEOUT = "55P03";
    private static final String FENCED = "SF001";
    private static final int MOST_SAMPLED = 20;

    /** Matches what has to come before a transaction's first query: SET TRANSACTION, and the settings that it sets. */
    private static final Pattern SETTING = Pattern.compile(
            "(?:\\s++|--[^\n]*+\n|/\\*.*?\\*/)*+SET\\s+(?:(?:LOCAL\\s+)?TRANSACTION_|TRANSACTION\\s)[^;]*;?\\s*",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    private final Connection pooled;
    private final DriverSession driver;
    private final SessionPool lender;
    private final OldDatabase old;
    private boolean hasEntered;
    /** The statements of a transaction that is a sample; otherwise null. */
    private @Nullable List<Executed> sample;

    OldDatabaseConnection(ShardConnections.Loan loan, SessionPool lender, int shard, OldDatabase old)
            throws SQLException {
        super(loan, lender, shard);
        this.pooled = loan.connection();
        this.driver = DriverSession.of(pooled);
        this.lender = lender;
        this.old = old;
    }

    @Override
    public String schema() {
        return old.schema();
    }

    @Override
    public boolean isAdmitted() throws SQLException {
        try {
            ask("SELECT " + ENTER);
            return true;
        } catch (NotEnteredException e) {
            return false;
        }
    }

    /**
     * Keeps the shard in the old database until the transaction ends, unless that was done already. Savepoints come after it, since their
     * rollback would undo it.
     */
    private void enter() throws SQLException {
        if (pooled.getAutoCommit() || driver.isFailed()) {
            return;
        }
        hasEntered &= !driver.isIdle();
        if (!hasEntered) {
            ask(lender.searchPath(schema(), true) + ", " + ENTER);
            hasEntered = true;
            sample = pooled.isReadOnly() && old.samples().next() ? new ArrayList<>() : null;
        }
    }

    /** @param text the text as it was executed; the driver's statements have their parameters in it */
    private void note(String sql, Object text) {
        List<Executed> its = sample;
        if (its != null && its.size() < MOST_SAMPLED) {
            its.add(new Executed(sql, text.toString()));
        }
    }

    private void ask(String sql) throws SQLException {
        try (PreparedStatement statement = pooled.prepareStatement(sql)) {
            statement.setInt(1, shard());
            statement.execute();
        } catch (SQLException e) {
            switch (String.valueOf(e.getSQLState())) {
                case FENCED -> {
                    old.left().accept(shard());
                    throw new NotEnteredException(e);
                }
                // It waited for the cutover, and its snapshot is older, or the role's lock_timeout was shorter.
                case SERIALIZATION, LOCK_TIMEOUT -> throw new NotEnteredException(e);
                case NO_FUNCTION, NO_SCHEMA ->
                    throw new SQLException(
                            "the old database has no function shardflake_adopt.enter, so nothing says which shards have left it. '%s' creates the function, and '%s' removes it"
                                    .formatted(CliCommand.ADOPT_RUN, CliCommand.ADOPT_RUN_CANCEL),
                            e.getSQLState(),
                            e);
                default -> throw e;
            }
        }
    }

    /** Sets the path in auto-commit mode; in a transaction, entering sets it. */
    @Override
    void searchShard() throws SQLException {
        if (pooled.getAutoCommit()) {
            super.searchShard();
        } else {
            enter();
        }
    }

    /** Never qualifies a text: the tables there are not a shard's own, and functions that they call may need the search path. */
    @Override
    @Nullable
    String qualified(String sql) throws SQLException {
        text(sql);
        return null;
    }

    @Override
    boolean usesPath() {
        return true;
    }

    @Override
    public void commit() throws SQLException {
        List<Executed> its = sample;
        sample = null;
        try {
            super.commit();
        } catch (SQLException e) {
            throw explained(e);
        } finally {
            hasEntered = false;
        }
        if (its != null && !its.isEmpty()) {
            old.samples().ended(shard(), its);
        }
    }

    @Override
    public void rollback() throws SQLException {
        hasEntered = false;
        sample = null;
        super.rollback();
    }

    @Override
    public void setAutoCommit(boolean autoCommit) throws SQLException {
        super.setAutoCommit(autoCommit);
        hasEntered &= !autoCommit;
    }

    @Override
    public Savepoint setSavepoint() throws SQLException {
        enter();
        return super.setSavepoint();
    }

    @Override
    public Savepoint setSavepoint(String name) throws SQLException {
        enter();
        return super.setSavepoint(name);
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        enter();
        return super.unwrap(type);
    }

    /** Explains a fence's refusal: the fence is another shard's, since this transaction keeps its own shard open. */
    private SQLException explained(SQLException e) {
        return hasEntered && SqlFailure.isFence(e) ? new OtherShardException(shard(), e) : e;
    }

    private <T> T entered(Executions.Execution<T> execution) throws SQLException {
        enter();
        return explained(execution);
    }

    private <T> T explained(Executions.Execution<T> execution) throws SQLException {
        try {
            return execution.run();
        } catch (SQLException e) {
            throw explained(e);
        }
    }

    /** Executes prepared statements, and batches. */
    private class Entering implements Executions {

        @Override
        public <T> T execute(Execution<T> execution) throws SQLException {
            return entered(execution);
        }

        @Override
        public void unwrapped() throws SQLException {
            enter();
            OldDatabaseConnection.this.unwrapped();
        }

        @Override
        public Connection connection() {
            return OldDatabaseConnection.this;
        }
    }

    /** Executes texts. */
    private final class EnteringByText extends Entering {

        @Override
        public <T> T execute(Execution<T> execution) throws SQLException {
            return explained(execution);
        }

        @Override
        public <T> T executeBatch(Execution<T> execution) throws SQLException {
            return entered(execution);
        }

        @Override
        public String text(String sql) throws SQLException {
            if (!SETTING.matcher(sql).matches()) {
                enter();
                note(sql, sql);
            }
            return OldDatabaseConnection.this.text(sql);
        }
    }

    @Override
    protected Statement opened(Opening opening) throws SQLException {
        return new ReportingStatement<>(opening.open(), new EnteringByText());
    }

    @Override
    protected PreparedStatement prepared(String sql, Preparing<PreparedStatement> preparing) throws SQLException {
        PreparedStatement statement = super.prepared(sql, preparing);
        if (SETTING.matcher(sql).matches()) {
            return statement;
        }
        return new ReportingPreparedStatement(statement, new Entering() {
            @Override
            public <T> T execute(Execution<T> execution) throws SQLException {
                T result = super.execute(execution);
                if (sample != null) {
                    try {
                        note(sql, statement.unwrap(PGStatement.class));
                    } catch (SQLException | RuntimeException e) {
                        sample = null; // The driver cannot write the parameters, which the application need not know.
                    }
                }
                return result;
            }
        });
    }

    @Override
    protected CallableStatement called(String sql, Preparing<CallableStatement> preparing) throws SQLException {
        CallableStatement statement = super.called(sql, preparing);
        return (CallableStatement) Proxy.newProxyInstance(
                OldDatabaseConnection.class.getClassLoader(),
                new Class<?>[] {CallableStatement.class},
                (proxy, method, arguments) -> {
                    try {
                        if (method.getName().startsWith("execute")) {
                            enter();
                        }
                        return method.invoke(statement, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getTargetException() instanceof SQLException failed
                                ? explained(failed)
                                : e.getTargetException();
                    }
                });
    }
}
