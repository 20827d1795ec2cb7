/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.lang.reflect.Array;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLClientInfoException;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.shardflake.Sharding;
import org.shardflake.router.internal.connection.ShardConnections;
import org.shardflake.router.internal.jdbc.Executions;
import org.shardflake.router.internal.jdbc.ForwardingConnection;
import org.shardflake.router.internal.jdbc.ReportingPreparedStatement;
import org.shardflake.router.internal.jdbc.ReportingStatement;
import org.shardflake.router.internal.sqltext.ShardNames;
import org.shardflake.router.internal.sqltext.SqlEffects;
import org.shardflake.router.internal.sqltext.TableNames;
import org.shardflake.router.internal.sqltext.TableNamesReader;
import org.shardflake.router.internal.sqltext.WrittenTable;
import org.shardflake.server.internal.DriverSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A pooled connection while it is lent. With the commit of a write it asks whether the shard is still open on this
 * server, unless that is known; it is returned as it was lent.
 */
public class LeasedConnection extends ForwardingConnection implements Executions {

    /** The shard number for a connection that reads many shards. */
    public static final int MANY_SHARDS = ShardConnections.NO_SHARD;

    private static final String ASK_AND_COMMIT = "SELECT shardflake.require_open(?); COMMIT";
    private static final String ASK = "SELECT shardflake.require_open(?::pg_catalog.regclass)";
    private static final int OID_OF_REGCLASS = 2205;
    /** The number of times a cancel is sent, for about five seconds; see {@link RunningReads#cancel}. */
    private static final int MAX_CANCELS = 8;

    private static final Logger LOG = LoggerFactory.getLogger(RouterLog.NAME);

    private final ShardConnections.Loan loan;
    private final Connection pooled;
    private final DriverSession driver;
    private final SessionPool lender;
    private final int shard;
    private boolean hasTraces;
    private boolean usesPath;
    /**
     * Whether every commit must ask the server: the transaction may have released its locks, or written without meeting fences. Statements
     * prepared earlier still may.
     */
    private boolean asksAlways;
    /** Whether SQL is refused that would end the transaction, since the router ends it. */
    private boolean keepsTransaction;
    /** Whether this transaction has written, and so holds a lock that a fence of the shard waits for. */
    private boolean holdsLock;

    private @Nullable String latestSql;
    private SqlEffects.@Nullable Facts latestFacts;

    private boolean closed;
    private final AtomicInteger cancels = new AtomicInteger();
    private final AtomicBoolean evicted = new AtomicBoolean();

    LeasedConnection(ShardConnections.Loan loan, SessionPool lender, int shard) throws SQLException {
        super(loan.connection());
        this.loan = loan;
        this.pooled = loan.connection();
        this.driver = DriverSession.of(pooled);
        this.lender = lender;
        this.shard = shard;
    }

    /**
     * Cancels the running statement; called from another thread, repeatedly while the connection is in use. The
     * connection stays open until it is given back, as PostgreSQL would not end a statement whose client has gone; it
     * is closed if the server takes no cancels.
     */
    public void cancel() {
        try {
            driver.cancel();
            if (cancels.incrementAndGet() > MAX_CANCELS) {
                evict();
            }
        } catch (SQLException e) {
            LOG.debug("a statement could not be cancelled", e);
            evict();
        }
    }

    /** Takes the connection out of the pool. */
    private void evict() {
        if (!evicted.getAndSet(true)) {
            loan.evict();
        }
    }

    /** Whether a statement has failed, so that the transaction can no longer be committed. */
    boolean isFailed() {
        return driver.isFailed();
    }

    /**
     * Checks that COMMIT would commit. After a failed statement PostgreSQL answers it with ROLLBACK, which the driver
     * does not report.
     */
    public void requireCommittable() throws SQLException {
        if (isClosed()) {
            throw new NotCommittableException("the connection was lost before the commit", "08003");
        }
        if (isFailed()) {
            throw new NotCommittableException(
                    "a statement has failed and the work went on, but PostgreSQL has aborted the transaction; let the"
                            + " exception through, or use a savepoint around what may fail",
                    "25P02");
        }
    }

    /** Whether a statement has begun a transaction. */
    public boolean isInTransaction() {
        return !driver.isIdle();
    }

    /** Notes the shards that a query reads, if this connection was leased for {@link #MANY_SHARDS}. */
    public void reads(String query, Collection<Integer> shards) {
        loan.reads(query, shards);
    }

    /** The shard that this connection was leased for. */
    public int shard() {
        return shard;
    }

    /**
     * Whether the database has the shard. An {@linkplain OldDatabase old} database is asked that. If the router has one, a server is asked whether the
     * shard is open, since no map tells of a shard that goes back. Outside a transaction that may change at any time.
     */
    public boolean isAdmitted() throws SQLException {
        if (!lender.asksForReads()
                || !lender.asksWithCommit()
                || lender.openShards().isKnownOpen(shard)) {
            return true;
        }
        try (PreparedStatement statement = pooled.prepareStatement(ASK)) {
            statement.setString(1, Sharding.schema(shard) + ".id_seq");
            statement.execute();
            return true;
        } catch (SQLException e) {
            if (SqlFailure.isFence(e)) {
                return false;
            }
            lender.failed(e);
            throw e;
        }
    }

    /** The schema of the shard that this connection was leased for. */
    public String schema() {
        return Sharding.schema(shard);
    }

    /**
     * Makes names without a schema resolve to the shard's first, until the transaction ends or, in auto-commit mode, the connection is
     * returned.
     */
    void searchShard() throws SQLException {
        search(schema());
    }

    /** Makes names without a schema resolve to any shard of the server first, as {@link #searchShard()} does for its own. */
    public void searchShard(int other) throws SQLException {
        search(Sharding.schema(other));
    }

    private void search(String schema) throws SQLException {
        boolean isLocal = !pooled.getAutoCommit();
        if (!isLocal) {
            leaveTraces();
        }
        try (Statement statement = pooled.createStatement()) {
            statement.execute(lender.searchPath(schema, isLocal));
        }
    }

    /** The statement's text with the shard's schema before its tables; null if only the search_path tells which tables those are. */
    @Nullable
    String qualified(String sql) throws SQLException {
        text(sql);
        if (usesPath) {
            return null;
        }
        Optional<TableNames> read = TableNamesReader.read(sql);
        return read.isEmpty() ? null : read.get().in(schema(), lender.names().of(shard, pooled, isFailed()));
    }

    /**
     * A function that puts a schema into a statement's text as {@link #qualified} does, for shards with the same names as the given one; null
     * if only the search_path tells which tables the text names.
     */
    @Nullable
    public UnaryOperator<String> qualifier(String sql, int one) throws SQLException {
        Optional<TableNames> read = TableNamesReader.read(sql);
        if (read.isEmpty()) {
            return null;
        }
        ShardNames names = lender.names().of(one, pooled, isFailed());
        return read.get().in(Sharding.schema(one), names) == null
                ? null
                : schema -> Objects.requireNonNull(read.get().in(schema, names));
    }

    /**
     * Whether a statement may have changed what names refer to: temporary tables come before the shard's, and a search_path set by the user
     * holds until the transaction ends.
     */
    boolean usesPath() {
        return usesPath;
    }

    /** Prepares a statement between two others that set the search_path and reset it. */
    PreparedStatement prepareWithPath(String mark, String sql) throws SQLException {
        text(sql);
        return pooled.prepareStatement(
                lender.searchPath(schema(), true) + "; " + mark + sql + "\n; " + lender.oldPath());
    }

    /** Notes that the session's state may have changed. */
    private void leaveTraces() {
        hasTraces = true;
        asksAlways = true;
    }

    @Override
    public void unwrapped() {
        leaveTraces();
    }

    @Override
    public LeasedConnection connection() {
        return this;
    }

    /** Refuses SQL such as COMMIT from now on, unless in auto-commit mode: its changes would be made twice when the work runs again. */
    public void keepTransaction() {
        keepsTransaction = true;
    }

    private void requireTransactionKept(String sql) throws SQLException {
        String end = facts(sql).end();
        if (end != null && !pooled.getAutoCommit()) {
            throw new SQLException(
                    end
                            + " as SQL is not for work given to the router, which ends the transaction itself when the work does: leave it out",
                    "25001");
        }
    }

    /** Notes what a statement may change in the session before it runs; returns the statement's text. */
    @Override
    public String text(String sql) throws SQLException {
        if (keepsTransaction) {
            requireTransactionKept(sql);
        }
        if (!hasTraces || !usesPath) {
            switch (facts(sql).effect()) {
                case NONE -> {}
                case LOCKS -> asksAlways = true;
                case PATH -> {
                    usesPath = true;
                    asksAlways = true;
                }
                case SESSION -> {
                    leaveTraces();
                    usesPath = true;
                }
            }
        }
        return sql;
    }

    /** The effects of a text, computed once although each statement needs them twice. */
    private SqlEffects.Facts facts(String sql) {
        SqlEffects.Facts facts = latestFacts;
        if (facts == null || !sql.equals(latestSql)) {
            facts = SqlEffects.facts(sql, shard == MANY_SHARDS ? null : schema());
            latestSql = sql;
            latestFacts = facts;
        }
        return facts;
    }

    /** Wraps a prepared statement so that it reports when it has written to a table of the shard. */
    private PreparedStatement reporting(PreparedStatement statement, String sql) {
        WrittenTable written = shard == MANY_SHARDS ? null : facts(sql).written();
        return written != null && written.schema().equals(schema())
                ? new ReportingPreparedStatement(statement, new Write(written.name()))
                : statement;
    }

    /** Writes to a table of the shard. */
    private final class Write implements Executions {

        private final String table;

        private Write(String table) {
            this.table = table;
        }

        @Override
        public <T> T execute(Execution<T> execution) throws SQLException {
            T result = execution.run();
            written();
            return result;
        }

        @Override
        public <T> T executeBatch(Execution<T> execution) throws SQLException {
            T counts = execution.run();
            if (Array.getLength(counts) > 0) {
                written();
            }
            return counts;
        }

        /** Notes that the fence let a write pass, and that the transaction, if there is one, now holds a lock. */
        private void written() {
            if (!holdsLock && driver.isOpen()) {
                holdsLock = lender.isWaitedFor(table);
            }
        }

        @Override
        public Connection connection() {
            return LeasedConnection.this;
        }
    }

    @Override
    public void rollback() throws SQLException {
        holdsLock = false;
        super.rollback();
    }

    @Override
    public Savepoint setSavepoint() throws SQLException {
        asksAlways = true;
        return super.setSavepoint();
    }

    @Override
    public Savepoint setSavepoint(String name) throws SQLException {
        asksAlways = true;
        return super.setSavepoint(name);
    }

    /**
     * Commits. Work that only read or locked has met no fence so far, so the shard must be open after the last
     * statement: unless that is known, the server is asked in the round trip of the commit. If it answers with SF001,
     * nothing is committed. No map tells of a shard that goes back to an old database, so with one reads ask, too. Where the transaction has written, a fence that it has not met waits for it.
     */
    @Override
    public void commit() throws SQLException {
        boolean isOpenUntilEnd = holdsLock && !asksAlways;
        holdsLock = false;
        resetShared();
        if (shard == MANY_SHARDS
                || isOpenUntilEnd
                || (pooled.isReadOnly() && !lender.asksForReads())
                || pooled.getAutoCommit()
                || !driver.isOpen()
                || !lender.asksWithCommit()
                || lender.openShards().isKnownOpen(shard)) {
            pooled.commit();
            return;
        }
        try {
            askAndCommit();
        } catch (SQLException e) {
            lender.failed(e);
            throw e;
        }
    }

    @Override
    public void setAutoCommit(boolean autoCommit) throws SQLException {
        if (autoCommit && !pooled.getAutoCommit() && isInTransaction()) {
            commit(); // as JDBC specifies; the driver would not ask
        }
        super.setAutoCommit(autoCommit);
    }

    /** Resets a session before a pooler gives it to others after this transaction; on return to the pool it would be too late. */
    private void resetShared() throws SQLException {
        if (hasTraces && lender.isShared() && driver.isOpen()) {
            lender.resetState(driver);
            hasTraces = false;
        }
    }

    private void askAndCommit() throws SQLException {
        OpenShards.Question question = lender.openShards().ask(shard);
        Long fence = driver.askAndCommit(
                ASK_AND_COMMIT, Sharding.schema(shard) + ".id_seq", OID_OF_REGCLASS, lender.prepares());
        if (fence != null) {
            lender.openShards().isOpen(question, fence);
        }
    }

    @Override
    public void close() throws SQLException {
        if (closed) {
            return;
        }
        closed = true;
        boolean isFit = false;
        try {
            // PostgreSQL acts on a cancel some time after it was sent, which could hit the next user's statement. A
            // closed
            // connection does not even tell its mode.
            isFit = cancels.get() == 0 && !driver.isClosed() && (!mayHaveChanged() || lender.reset(pooled, driver));
        } finally {
            loan.giveBack(isFit);
        }
    }

    private boolean mayHaveChanged() throws SQLException {
        return hasTraces || (pooled.getAutoCommit() && !isIdle());
    }

    private boolean isIdle() {
        return driver.isIdle();
    }

    /** Whether the session is closed, even if only the driver knows: a FATAL answer to a commit leaves its outcome unknown. */
    @Override
    public boolean isClosed() throws SQLException {
        return closed || driver.isClosed() || pooled.isClosed();
    }

    @Override
    protected Statement opened(Opening opening) throws SQLException {
        return new ReportingStatement<>(super.opened(opening), this);
    }

    @Override
    protected PreparedStatement prepared(String sql, Preparing<PreparedStatement> preparing) throws SQLException {
        return reporting(super.prepared(text(sql), preparing), sql);
    }

    @Override
    protected CallableStatement called(String sql, Preparing<CallableStatement> preparing) throws SQLException {
        return super.called(text(sql), preparing);
    }

    @Override
    public void setSchema(String schema) throws SQLException {
        leaveTraces();
        usesPath = true;
        super.setSchema(schema);
    }

    @Override
    public void setCatalog(String catalog) throws SQLException {
        leaveTraces();
        super.setCatalog(catalog);
    }

    @Override
    public void setClientInfo(Properties properties) throws SQLClientInfoException {
        leaveTraces();
        super.setClientInfo(properties);
    }

    @Override
    public void setClientInfo(String name, String value) throws SQLClientInfoException {
        leaveTraces();
        super.setClientInfo(name, value);
    }

    @Override
    public void setHoldability(int holdability) throws SQLException {
        leaveTraces();
        super.setHoldability(holdability);
    }

    @Override
    public void setTypeMap(Map<String, Class<?>> map) throws SQLException {
        leaveTraces();
        super.setTypeMap(map);
    }

    @Override
    public void setTransactionIsolation(int level) throws SQLException {
        leaveTraces();
        super.setTransactionIsolation(level);
    }

    /** Unwraps the driver's own connection; its caller can do anything, so the session is assumed to be changed. */
    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        leaveTraces();
        usesPath = true;
        return super.unwrap(type);
    }
}
