/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.io.Serial;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.CliCommand;
import org.shardflake.router.internal.connection.ShardConnections;
import org.shardflake.server.internal.DriverSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The sessions of one server's connections, which are leased and reset to their initial state on return. Thread-safe. */
public final class SessionPool {

    private static final Logger LOG = LoggerFactory.getLogger(RouterLog.NAME);
    /** The interval at which a server with an older function library is checked again. */
    private static final Duration LOOK_AGAIN = Duration.ofMinutes(1);

    /**
     * Reads the state of a new session, in which the driver and the pool have already set something. Its search_path is the
     * application's, so nothing here is looked up by it.
     */
    private static final String LOOK = """
            SELECT EXISTS (SELECT FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
                            WHERE n.nspname OPERATOR(pg_catalog.=) 'shardflake' AND p.proname OPERATOR(pg_catalog.=) 'require_open'
                              AND p.prorettype OPERATOR(pg_catalog.=) 'bigint'::pg_catalog.regtype
                              AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')),
                   pg_catalog.concat_ws(', ',
                       CASE WHEN pg_catalog.current_setting('role') OPERATOR(pg_catalog.<>) 'none'
                           THEN pg_catalog.format('pg_catalog.set_config(%L, %L, false)', 'role', pg_catalog.current_setting('role')) END,
                       (SELECT pg_catalog.string_agg(pg_catalog.format('pg_catalog.set_config(%L, %L, false)', name, setting), ', ')
                          FROM pg_catalog.pg_settings
                         WHERE source OPERATOR(pg_catalog.=) 'session' AND name OPERATOR(pg_catalog.!~~) 'transaction%')),
                   CASE WHEN pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) ''
                       THEN pg_catalog.quote_literal(pg_catalog.concat(', ', pg_catalog.current_setting('search_path'))) END,
                   pg_catalog.current_setting('session_replication_role') OPERATOR(pg_catalog.<>) 'replica'
            """;

    private final String server;
    private final ShardConnections connections;
    private final PGSimpleDataSource source;
    private final FenceWatch watch;
    private final boolean isShared;
    private final boolean asksForReads;
    private final @Nullable OldDatabase old;
    private final OpenShards openShards = new OpenShards(System::nanoTime);
    private final KnownNames names = new KnownNames(System::nanoTime);
    private final FencedTables tables = new FencedTables(System::nanoTime);
    private volatile @Nullable Session session;
    /** Whether an older library has been deployed since the last check. What is lent is reset by what that look has found. */
    private volatile boolean isOutdated;

    /**
     * The properties that all sessions of the pool share.
     *
     * @param asks whether the server's function library can tell if a shard is open
     * @param looked when that was found
     * @param reset the statements that make a session like a new one
     * @param path the search_path of a new one, to follow another schema, as a literal
     * @param meetsFences whether fences apply to it
     */
    private record Session(boolean asks, long looked, String reset, String path, boolean meetsFences) {}

    /**
     * @param isShared whether a pooler may give each transaction another session
     * @param asksForReads whether also a read asks with its commit
     * @param old null for a server of the shard map
     */
    public SessionPool(
            String server,
            ShardConnections connections,
            PGSimpleDataSource source,
            FenceWatch watch,
            boolean isShared,
            boolean asksForReads,
            @Nullable OldDatabase old) {
        this.server = server;
        this.asksForReads = asksForReads;
        this.old = old;
        this.isShared = isShared;
        this.connections = connections;
        this.source = source;
        this.watch = watch;
    }

    public ShardConnections connections() {
        return connections;
    }

    /** The user that connections log in as. */
    public String user() {
        return Objects.requireNonNullElse(source.getUser(), System.getProperty("user.name"));
    }

    /** Lends a connection for a shard, or for {@link LeasedConnection#MANY_SHARDS}. */
    public LeasedConnection lend(int shard) throws SQLException {
        // The old database has the same tables for all shards, so it makes no difference which connection has served
        // one.
        ShardConnections.Loan loan = connections.lend(old == null ? shard : LeasedConnection.MANY_SHARDS);
        try {
            if (isToLook()) {
                look(loan.connection());
            }
            lookAtTables(loan.connection());
            return old == null || shard == LeasedConnection.MANY_SHARDS
                    ? new LeasedConnection(loan, this, shard)
                    : new OldDatabaseConnection(loan, this, shard, old);
        } catch (SQLException | RuntimeException e) {
            loan.giveBack(true);
            throw e;
        }
    }

    private void lookAtTables(Connection pooled) throws UnpreparedException {
        try {
            tables.look(pooled);
        } catch (SQLException e) {
            throw new UnpreparedException("look at the shards' tables", e);
        }
    }

    /**
     * Thrown when a new session could not be prepared for its use. The connection was there, so unlike a failure to connect this may be tried
     * again.
     */
    public static final class UnpreparedException extends SQLException {

        @Serial
        private static final long serialVersionUID = 1L;

        private final String doing;

        UnpreparedException(String doing, SQLException cause) {
            super(cause.getMessage(), cause.getSQLState(), cause);
            this.doing = doing;
        }

        /** The step that failed. */
        public String doing() {
            return doing;
        }

        @Override
        public synchronized SQLException getCause() {
            return (SQLException) Objects.requireNonNull(super.getCause());
        }
    }

    private boolean isToLook() {
        Session known = session;
        return known == null
                || isOutdated
                || (old == null && !known.asks && System.nanoTime() - known.looked > LOOK_AGAIN.toNanos());
    }

    private void look(Connection pooled) throws UnpreparedException {
        try (Statement statement = pooled.createStatement();
                ResultSet row = statement.executeQuery(LOOK)) {
            row.next();
            boolean asks =
                    old == null && row.getBoolean(1); // A shard that is here may also be there already, and closed.
            String settings = row.getString(2);
            if (old == null && !asks && (session == null || isOutdated)) {
                LOG.warn(
                        "server {} has no shardflake.require_open, or this user may not execute it: work that only reads is not refused"
                                + " there when its shard is fenced. Deploy this version's function library with '{}'",
                        server,
                        CliCommand.UPGRADE);
            }
            String path = Objects.requireNonNullElse(row.getString(3), "''");
            session = new Session(asks, System.nanoTime(), reset(settings), path, row.getBoolean(4));
            isOutdated = false;
        } catch (SQLException e) {
            throw new UnpreparedException("read the settings of a session", e);
        }
    }

    private static String reset(String settings) {
        // DEALLOCATE cannot tell statements prepared by SQL from the driver's own, hence the query.
        return "SET SESSION AUTHORIZATION DEFAULT; RESET ALL; CLOSE ALL; UNLISTEN *; DISCARD TEMP; DISCARD SEQUENCES;"
                + " SELECT EXISTS (SELECT FROM pg_catalog.pg_prepared_statements WHERE from_sql), pg_catalog.pg_advisory_unlock_all()"
                + (settings.isEmpty() ? "" : ", " + settings);
    }

    /**
     * The statement that puts a schema first in the search_path. No SET, of which the driver takes notice by forgetting
     * its prepared statements.
     */
    String searchPath(String schema, boolean isLocal) {
        Session known = session;
        return "SELECT pg_catalog.set_config('search_path', '%s' OPERATOR(pg_catalog.||) %s, %s)"
                .formatted(schema, known == null ? "', public'" : known.path, isLocal);
    }

    /** The statement that resets the search_path after {@link #searchPath}, in the same transaction. */
    String oldPath() {
        Session known = session;
        return "SELECT pg_catalog.set_config('search_path', pg_catalog.substr(%s, 3), true)"
                .formatted(known == null ? "', public'" : known.path);
    }

    /** The names of the shards' schemas. */
    KnownNames names() {
        return names;
    }

    /** Whether a fence waits for transactions that have written to the shard's table of this name. */
    boolean isWaitedFor(String table) {
        Session known = session;
        return known != null && known.meetsFences && tables.contains(table);
    }

    /** Whether a commit can ask the server if the shard is open. */
    public boolean asksWithCommit() {
        Session known = session;
        return known != null && known.asks && !isOutdated;
    }

    /** Whether the commit of a read-only piece of work asks the server, too. */
    boolean asksForReads() {
        return asksForReads;
    }

    /** The shards that the server has reported as open. */
    OpenShards openShards() {
        return openShards;
    }

    /** Whether statements may be kept prepared; a pooler before the server may not support it. */
    boolean prepares() {
        return source.getPrepareThreshold() != 0;
    }

    /** Reports a failed statement that the pool has not seen itself. */
    public void failed(SQLException e) {
        watch.adjudicate(e);
        if ("42883".equals(e.getSQLState())) {
            isOutdated = true;
        }
    }

    /** Resets a session to its initial state; false if that fails. */
    boolean reset(Connection pooled, DriverSession driver) {
        try {
            if (!pooled.getAutoCommit()) {
                pooled.rollback();
                pooled.setAutoCommit(true);
            }
            if (!resetSession(driver)) {
                return false;
            }
            driver.resetSettings(source);
            return true;
        } catch (SQLException | RuntimeException e) {
            LOG.debug("a connection to server {} could not be reset, and is closed", server, e);
            return false;
        }
    }

    /** Whether a session must be reset before the end of the transaction, as other clients may get the same session afterwards. */
    boolean isShared() {
        return isShared;
    }

    private boolean resetSession(DriverSession driver) throws SQLException {
        if (!driver.isIdle()) {
            try (Statement statement = driver.createStatement()) {
                statement.execute("ROLLBACK"); // The text of a statement began a transaction.
            }
        }
        return resetState(driver);
    }

    /** Resets the session, also in the middle of a transaction; returns whether nothing was left behind. */
    boolean resetState(DriverSession driver) throws SQLException {
        try (Statement statement = driver.createStatement()) {
            boolean hasRows = statement.execute(Objects.requireNonNull(session).reset);
            boolean stays = false;
            while (hasRows || statement.getUpdateCount() != -1) {
                if (hasRows) {
                    try (ResultSet row = statement.getResultSet()) {
                        row.next();
                        stays = row.getBoolean(1);
                    }
                }
                hasRows = statement.getMoreResults();
            }
            return !stays;
        }
    }
}
