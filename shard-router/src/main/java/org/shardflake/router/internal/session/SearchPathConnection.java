/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.regex.Pattern;
import org.shardflake.router.internal.jdbc.ConnectionMetaData;
import org.shardflake.router.internal.jdbc.ForwardingConnection;
import org.shardflake.router.internal.sqltext.TableNames;

/**
 * A connection that finds a table without a schema in the shard's schema.
 *
 * <p>Where that is sure to mean the same, the text of a prepared statement is given the shard's schema before its tables; see
 * {@link TableNames}. Then it is like any other of that shard: a path that changes would have PostgreSQL plan anew also
 * what the statement calls, such as the function that makes ids. For the rest, the path is set; also for all statements
 * after one that may have given names another meaning.
 *
 * <p>The search_path is set in the round trip of a prepared statement, for that alone. For others it is set before the
 * first of them in a transaction, and ends with it; also before a savepoint, as a rollback to that would take it back.
 *
 * <p>The texts of prepared statements name the shard in a comment: PostgreSQL would plan a statement anew each time it
 * finds another search_path, and refuse one that returns other columns in another shard.
 */
public class SearchPathConnection extends ForwardingConnection {

    /** Matches statements that have exactly one result. */
    private static final Pattern EVERYDAY =
            Pattern.compile("\\s*(SELECT|INSERT|UPDATE|DELETE|WITH|MERGE|VALUES)\\s", Pattern.CASE_INSENSITIVE);

    private final Connection below;
    private final LeasedConnection lent;
    private final String mark;
    private boolean isSet;

    public SearchPathConnection(Connection connection, LeasedConnection lent) {
        super(connection);
        this.below = connection;
        this.lent = lent;
        this.mark = "/* " + lent.schema() + " */ ";
    }

    /** Notes the end of a transaction, with which the search_path is reset. */
    protected final void forgetPath() {
        isSet = false;
    }

    /** Whether the path stays set for the rest of the transaction, so that no statement resets it. */
    public final boolean isPathSet() {
        return isSet;
    }

    /** Called before each statement. */
    protected void noteUse() throws SQLException {}

    private void beforeUse() throws SQLException {
        noteUse();
        if (!isSet) {
            lent.searchShard();
            isSet = true;
        }
    }

    /** The text as it has to be sent for the shard's tables to be found. */
    private String located(String sql) throws SQLException {
        String qualified = lent.qualified(sql);
        if (qualified != null) {
            noteUse();
            return qualified;
        }
        beforeUse();
        return mark + sql;
    }

    @Override
    public String getSchema() {
        return lent.schema();
    }

    @Override
    public DatabaseMetaData getMetaData() throws SQLException {
        return ConnectionMetaData.of(super.getMetaData(), this, lent.schema());
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

    /** Sets the path first: statements of the driver's own connection, such as COPY, name the shard's tables as others do. */
    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        if (!lent.isFailed()) {
            beforeUse();
        }
        return super.unwrap(type);
    }

    @Override
    protected Statement opened(Opening opening) throws SQLException {
        beforeUse();
        return super.opened(opening);
    }

    @Override
    protected CallableStatement called(String sql, Preparing<CallableStatement> preparing) throws SQLException {
        beforeUse();
        return super.called(sql, preparing);
    }

    @Override
    protected PreparedStatement prepared(String sql, Preparing<PreparedStatement> preparing) throws SQLException {
        return super.prepared(located(sql), preparing);
    }

    @Override
    public PreparedStatement prepareStatement(String sql) throws SQLException {
        noteUse();
        String qualified = lent.qualified(sql);
        if (qualified != null) {
            return super.prepared(qualified, below::prepareStatement);
        }
        if (isSet
                || lent.usesPath()
                || sql.indexOf(';') >= 0
                || !EVERYDAY.matcher(sql).lookingAt()) {
            return prepareAlone(sql);
        }
        return SearchPathStatement.of(this, sql, lent.prepareWithPath(mark, sql));
    }

    /** Prepares a statement, with the path set for the rest of the transaction. */
    PreparedStatement prepareAlone(String sql) throws SQLException {
        beforeUse();
        return super.prepared(mark + sql, below::prepareStatement);
    }
}
