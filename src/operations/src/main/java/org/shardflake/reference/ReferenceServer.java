/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.deploy.ReferenceChangelog;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/**
 * A server with two connections: one in auto-commit mode, and one for the transaction that changes its reference tables. For one
 * thread.
 */
final class ReferenceServer implements AutoCloseable {

    private static final String APPLICATION = "shardflake reference";

    /**
     * The lock timeout, shorter than the time after which a server looks for deadlocks, so that a writer is never the victim of a deadlock with
     * us.
     */
    private static final Duration LOCK_TIMEOUT = Duration.ofMillis(300);

    private static final String TABLES =
            "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind IN ('r', 'p') ORDER BY c.relname COLLATE \"C\"";

    private final String name;
    private final ServerUrl url;
    private final Connection control;
    private final Connection work;

    private ReferenceServer(String name, ServerUrl url, Connection control, Connection work) {
        this.name = name;
        this.url = url;
        this.control = control;
        this.work = work;
    }

    /** @throws ShardflakeException if it cannot be reached */
    static ReferenceServer connect(String name, ServerUrl url) {
        try {
            return connectBoth(name, url);
        } catch (SQLException e) {
            throw new ShardflakeException(
                    Kind.FAILURE,
                    "server %s cannot be reached: %s".formatted(name, Sql.message(e)),
                    "reference tables change on all servers together: run the same command again when it is back",
                    e);
        }
    }

    private static ReferenceServer connectBoth(String name, ServerUrl url) throws SQLException {
        Connection control = url.connect(APPLICATION);
        try {
            return new ReferenceServer(name, url, control, url.connect(APPLICATION));
        } catch (SQLException e) {
            Sql.close(control);
            throw e;
        }
    }

    String name() {
        return name;
    }

    ServerUrl url() {
        return url;
    }

    Connection control() {
        return control;
    }

    /** The connection whose transaction changes reference tables. */
    Connection work() {
        return work;
    }

    /** The reference tables, with their schema, in the order in which they are locked. */
    static List<String> tables(Connection connection) throws SQLException {
        return Sql.list(connection, TABLES, row -> row.getString(1), ReferenceChangelog.SCHEMA);
    }

    List<String> tables() throws SQLException {
        return tables(control);
    }

    /**
     * The reference table of a name, with or without the schema.
     *
     * @throws ShardflakeException if there is none
     */
    String table(String name) throws SQLException {
        List<String> tables = tables();
        String asSql = name.startsWith("reference.") ? name : "reference." + name;
        if (tables.contains(asSql)) {
            return asSql;
        }
        String wanted =
                Sql.text(control, "SELECT format('reference.%I', regexp_replace(?, '^reference\\.', ''))", name);
        if (!tables.contains(wanted)) {
            throw new ShardflakeException(
                    Kind.USAGE,
                    "there is no reference table %s".formatted(name),
                    tables.isEmpty() ? null : "one of " + String.join(", ", tables),
                    null);
        }
        return wanted;
    }

    boolean hasLibrary() throws SQLException {
        return Sql.isTrue(control, "SELECT to_regclass('shardflake.reference_version') IS NOT NULL");
    }

    long version() throws SQLException {
        return Sql.number(control, "SELECT version FROM shardflake.reference_version");
    }

    /** Whether the server receives everything up to this version in time. */
    boolean reaches(long version, Duration patience) throws SQLException {
        return Poll.everyMillis(2, patience).until(() -> version() >= version);
    }

    /** Begins the transaction, and blocks writers of these tables, including replication's apply worker. */
    void begin(List<String> tables) throws SQLException {
        work.setAutoCommit(false);
        Sql.execute(work, "SET LOCAL lock_timeout = %s".formatted(LOCK_TIMEOUT.toMillis()));
        if (!tables.isEmpty()) {
            Sql.execute(
                    work, "LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE".formatted(String.join(", ONLY ", tables)));
        }
    }

    /** Blocks all writers of reference tables until the transaction ends, and returns the version committed before. */
    long awaitWriters() throws SQLException {
        return Sql.number(work, "SELECT version FROM shardflake.reference_version FOR UPDATE");
    }

    /** Allows this transaction to write to tables. */
    void unguard(List<String> tables) throws SQLException {
        for (String table : tables) {
            Sql.call(work, "SELECT shardflake.unguard_reference(?::regclass)", table);
        }
    }

    /** Records, in the transaction, what the server may do with tables. */
    void guard(List<String> tables, String mode, String home) throws SQLException {
        for (String table : tables) {
            Sql.call(work, "SELECT shardflake.guard_reference(?::regclass, ?, ?)", table, mode, home);
        }
    }

    /** Records, in the transaction, whether the server is the home. */
    void record(String mode, String home) throws SQLException {
        Sql.call(
                work,
                "INSERT INTO shardflake.reference_home (server, mode) VALUES (?, ?) ON CONFLICT (only_row) DO UPDATE SET server = excluded.server, mode = excluded.mode",
                home,
                mode);
    }

    void commit() throws SQLException {
        work.commit();
        work.setAutoCommit(true);
    }

    /** Rolls back the transaction, if there is one. */
    void rollback() {
        try {
            if (!work.getAutoCommit()) {
                work.rollback();
                work.setAutoCommit(true);
            }
        } catch (SQLException e) {
            // The connection is lost, and its work with it.
        }
    }

    @Override
    public void close() {
        Sql.close(work);
        Sql.close(control);
    }
}
