/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import org.jspecify.annotations.Nullable;

/**
 * The database that a {@link PostgresExtension} has created for a test class on one server, and will drop afterwards.
 *
 * <p>Thread-safe. Connections belong to the code that opens them.
 */
public final class TestDatabase {
    /** Copies files: logging each of their pages, as by default, takes a third more processor time where nothing waits for a disk. */
    private static final String COPY = "CREATE DATABASE \"%s\" TEMPLATE \"%s\" STRATEGY file_copy";

    private final PostgresServer server;
    private final String name;
    private final Optional<ManagedRole> role =
            SystemProperties.get("postgres.role").map(ManagedRole::parse);
    private @Nullable String copied;
    private long copiedAt;

    private TestDatabase(PostgresServer server, String name) {
        this.server = server;
        this.name = name;
    }

    /** The server of the database. */
    public PostgresServer server() {
        return server;
    }

    /** The database's name, the same on all servers of a test class. */
    public String name() {
        return name;
    }

    /** The database's JDBC URL, without user and password. */
    public String jdbcUrl() {
        return server.jdbcUrl(name);
    }

    /** The user of the database: the superuser, or the {@link ManagedRole} of the system property {@code postgres.role}. */
    public String user() {
        return role.map(ManagedRole::user).orElse(server.user());
    }

    /** The user's password, empty when none is needed. */
    public String password() {
        return role.map(ManagedRole::password).orElse(server.password());
    }

    /** The database's libpq URI with the user and, if there is one, the password. */
    public String uri() {
        return uri(user(), password());
    }

    /** The database's libpq URI with another role. */
    public String uri(String user, String password) {
        return server.uri(name)
                .replaceFirst(
                        "//[^@/]*@",
                        Matcher.quoteReplacement("//" + ClusterServer.encode(user)
                                + (password.isEmpty() ? "" : ":" + ClusterServer.encode(password)) + "@"));
    }

    /** Opens a connection as superuser. */
    public Connection connect() throws SQLException {
        return server.connect(name);
    }

    /** Opens a connection as another role. */
    public Connection connectAs(String role, String password) throws SQLException {
        return DriverManager.getConnection(jdbcUrl(), role, password);
    }

    @Override
    public String toString() {
        return name + " on " + server;
    }

    /** Represents an existing database, such as a standby's. */
    public static TestDatabase existing(PostgresServer server, String name) {
        return new TestDatabase(server, name);
    }

    static TestDatabase create(PostgresServer server, String name, String original) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(COPY.formatted(name, original));
        }
        TestDatabase database = new TestDatabase(server, name);
        database.giveToRole();
        return database;
    }

    private void giveToRole() throws SQLException {
        if (role.isPresent()) {
            role.get().own(server, name);
        }
    }

    /** Copies the database to another name on the same server; ends the connections to it. */
    void copyTo(String copy) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            endSessions(statement);
            statement.execute(COPY.formatted(copy, name));
        }
    }

    /** Ends the connections to the database; returns whether it is an unchanged copy of another one. */
    boolean isStill(String original) throws SQLException {
        if (!original.equals(copied)) {
            return false;
        }
        if (server.canRestart()) {
            server.start();
        }
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            endSessions(statement);
            return nextTransaction(statement) == copiedAt
                    && strings(statement, "SELECT slot_name FROM pg_replication_slots WHERE database = '" + name + "'")
                            .isEmpty();
        }
    }

    private void endSessions(Statement statement) throws SQLException {
        statement.execute("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
                + " WHERE backend_type = 'client backend' AND datname = '" + name + "'");
    }

    /** The id that the server's next writing transaction will get. */
    private static long nextTransaction(Statement statement) throws SQLException {
        return Long.parseLong(strings(statement, "SELECT pg_snapshot_xmax(pg_current_snapshot())")
                .get(0));
    }

    /** Replaces databases that may replicate to each other by copies of {@code original} on their servers. */
    static void replaceAll(List<TestDatabase> databases, String original) throws SQLException {
        dropAll(databases);
        for (TestDatabase database : databases) {
            try (Connection connection = database.server.connect();
                    Statement statement = connection.createStatement()) {
                statement.execute(COPY.formatted(database.name, original));
                database.giveToRole();
                database.copied = original;
                database.copiedAt = nextTransaction(statement);
            }
        }
    }

    /**
     * Drops databases that may replicate to each other: all subscriptions before any database, so that the slots they
     * hold are free.
     */
    static void dropAll(List<TestDatabase> databases) throws SQLException {
        for (TestDatabase database : databases) {
            if (database.server.canRestart()) {
                database.server.start();
            }
            database.releaseReplication();
        }
        for (TestDatabase database : databases) {
            drop(database.server, database.name);
        }
    }

    /** Removes what makes DROP DATABASE fail even WITH (FORCE): subscriptions and prepared transactions. */
    private void releaseReplication() throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (String subscription : strings(
                    statement,
                    "SELECT quote_ident(subname) FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid"
                            + " WHERE datname = current_database()")) {
                statement.execute("ALTER SUBSCRIPTION " + subscription + " DISABLE");
                statement.execute("ALTER SUBSCRIPTION " + subscription + " SET (slot_name = NONE)");
                statement.execute("DROP SUBSCRIPTION " + subscription);
            }
            for (String transaction : strings(
                    statement,
                    "SELECT quote_literal(gid) FROM pg_prepared_xacts WHERE database = current_database()")) {
                statement.execute("ROLLBACK PREPARED " + transaction);
            }
        }
    }

    static void drop(PostgresServer server, String name) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            // A slot in use blocks the drop; a walsender takes a moment to let go of it.
            statement.execute("SELECT pg_terminate_backend(active_pid, 60000) FROM pg_replication_slots"
                    + " WHERE active AND database = '" + name + "'");
            statement.execute("DROP DATABASE \"" + name + "\" WITH (FORCE)");
        }
    }

    /** Puts the database's name in place of another one, if there is such a table; no trigger takes this for a change. */
    void rename(String before, String table, String column) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            if (!strings(statement, "SELECT 1 WHERE to_regclass('%s') IS NOT NULL".formatted(table))
                    .isEmpty()) {
                statement.execute("SET session_replication_role = replica");
                statement.execute(
                        "UPDATE %1$s SET %2$s = replace(%2$s, '%3$s', '%4$s')".formatted(table, column, before, name));
            }
        }
    }

    /** Whether a server that runs has a database of this name. */
    static boolean isOn(PostgresServer server, String name) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            return !strings(statement, "SELECT datname FROM pg_database WHERE datname = '" + name + "'")
                    .isEmpty();
        }
    }

    static void dropIfThere(PostgresServer server, Collection<String> names) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            for (String name : names) {
                statement.execute("DROP DATABASE IF EXISTS \"" + name + "\" WITH (FORCE)");
            }
        }
    }

    private static List<String> strings(Statement statement, String query) throws SQLException {
        List<String> strings = new ArrayList<>();
        try (ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                strings.add(rows.getString(1));
            }
        }
        return strings;
    }
}
