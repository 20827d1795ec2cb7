/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A JUnit extension that gives each test class a fresh database on each of several servers.
 *
 * <pre>{@code
 * @RegisterExtension
 * static final PostgresExtension postgres = PostgresExtension.servers(2);
 *
 * @Test
 * void speaks() throws SQLException {
 *     try (Connection connection = postgres.database(0).connect()) { ... }
 * }
 * }</pre>
 *
 * <p>All test classes of a JVM share one cluster, started when the first needs it and closed at the end of the launcher
 * session. A server that an earlier class left stopped is started again. The databases are dropped after the class,
 * even if still in use; roles, which belong to the server, stay.
 *
 * <p>Register it in a static field. Thread-safe; test classes may run in parallel if each has its own extension.
 */
public final class PostgresExtension implements BeforeAllCallback, AfterAllCallback {
    private static final Preparation UNPREPARED = connection -> {};

    private final int servers;
    private final @Nullable Basis basis;
    private final Preparation preparation;
    private final List<TestDatabase> databases = new ArrayList<>();
    private final Map<String, String> saved = new HashMap<>();
    private @Nullable SharedCluster shared;
    private int depth;

    private PostgresExtension(int servers, @Nullable Basis basis, Preparation preparation) {
        this.servers = servers;
        this.basis = basis;
        this.preparation = preparation;
    }

    /** Creates an extension with a fresh database on each of this many servers. */
    public static PostgresExtension servers(int servers) {
        if (servers < 1) {
            throw new IllegalArgumentException("servers is " + servers + ", allowed: 1 or more");
        }
        return new PostgresExtension(servers, null, UNPREPARED);
    }

    /** Prepares each fresh database over a superuser's connection, which is closed afterwards. */
    public PostgresExtension prepare(Preparation preparation) {
        return new PostgresExtension(servers, basis, preparation);
    }

    /**
     * Begins with databases that are alike in several classes: only the first class of a JVM that uses the name prepares one on each of its
     * servers, and the next ones get copies.
     */
    public PostgresExtension prepareOnce(String name, Preparation once) {
        return new PostgresExtension(servers, new Basis(name, once), preparation);
    }

    /** The test class's database on a server, counted from 0. */
    public synchronized TestDatabase database(int server) {
        if (databases.isEmpty()) {
            throw new IllegalStateException("no database outside a test class; is the extension's field static?");
        }
        if (server < 0 || server >= databases.size()) {
            throw new IndexOutOfBoundsException("server " + server + " is out of range 0.." + (databases.size() - 1));
        }
        return databases.get(server);
    }

    /**
     * Saves the current state of the databases for {@link #restore}, which is cheaper than preparing them for each test. Ends the connections
     * to them.
     */
    public synchronized void save(String state) throws SQLException {
        TestDatabase first = database(0);
        String copy = first.name() + "_" + saved.size();
        saved.put(state, copy);
        for (TestDatabase database : databases) {
            database.copyTo(copy);
        }
    }

    /**
     * Restores the databases to a saved state, whatever has happened to them since, even if they are in use. A database in which nothing was
     * written since stays as it is, without its connections.
     *
     * @return false if there is no such state; the databases are then unchanged
     */
    public synchronized boolean restore(String state) throws SQLException {
        String copy = saved.get(state);
        if (copy == null) {
            return false;
        }
        List<TestDatabase> touched = new ArrayList<>();
        for (TestDatabase database : databases) {
            if (!database.isStill(copy)) {
                touched.add(database);
            }
        }
        TestDatabase.replaceAll(touched, copy);
        return true;
    }

    /**
     * Keeps the current state of the databases for the next classes of this JVM with as many servers, which {@link #take} it in place of
     * making it. Ends the connections to them. Does nothing if the databases were prepared.
     */
    public synchronized void share(String state) throws SQLException {
        TestDatabase first = database(0);
        if (preparation == UNPREPARED && basis == null) {
            String copy = newName("shared");
            for (TestDatabase database : databases) {
                database.copyTo(copy);
            }
            shared().states.put(servers + state, new SharedState(first.name(), copy));
        }
    }

    /**
     * Replaces the databases by copies of those that an earlier class has {@linkplain #share shared}. There they had another name, which is
     * replaced by the present one in a column of a table.
     *
     * @return false if no class has shared this state; the databases are then unchanged
     */
    public synchronized boolean take(String state, String table, String column) throws SQLException {
        TestDatabase first = database(0);
        SharedState found =
                preparation == UNPREPARED && basis == null ? shared().states.get(servers + state) : null;
        if (found == null || !TestDatabase.isOn(first.server(), found.copy())) {
            return false;
        }
        TestDatabase.replaceAll(databases, found.copy());
        for (TestDatabase database : databases) {
            database.rename(found.name(), table, column);
        }
        return true;
    }

    private SharedCluster shared() {
        return Objects.requireNonNull(shared);
    }

    @Override
    public synchronized void beforeAll(ExtensionContext context) throws Exception {
        // Nested classes get here too, and use the databases of their enclosing class.
        if (depth++ > 0) {
            return;
        }
        shared = context.getStore(
                        ExtensionContext.StoreScope.LAUNCHER_SESSION,
                        ExtensionContext.Namespace.create(PostgresExtension.class))
                .computeIfAbsent(SharedCluster.class, key -> new SharedCluster(), SharedCluster.class);
        PostgresCluster cluster = shared.withServers(servers);
        String name = databaseName(context.getRequiredTestClass());
        for (PostgresServer server : cluster.servers().subList(0, servers)) {
            if (server.canRestart()) {
                server.start();
            }
            create(server, name);
        }
    }

    private void create(PostgresServer server, String name) throws Exception {
        TestDatabase database =
                basis == null ? TestDatabase.create(server, name, "template0") : copy(basis, server, name);
        databases.add(database);
        prepare(database, preparation);
    }

    private TestDatabase copy(Basis from, PostgresServer server, String name) throws Exception {
        String key = server.name() + " " + from.name();
        String copy = shared().prepared.get(key);
        if (copy != null && TestDatabase.isOn(server, copy)) {
            return TestDatabase.create(server, name, copy);
        }
        TestDatabase database = TestDatabase.create(server, name, "template0");
        prepare(database, from.preparation());
        String kept = newName("prepared");
        database.copyTo(kept);
        shared().prepared.put(key, kept);
        return database;
    }

    private static void prepare(TestDatabase database, Preparation preparation) throws Exception {
        if (preparation != UNPREPARED) {
            try (Connection connection = database.connect()) {
                preparation.prepare(connection);
            }
        }
    }

    @Override
    public synchronized void afterAll(ExtensionContext context) throws Exception {
        if (--depth > 0) {
            return;
        }
        List<TestDatabase> dropped = List.copyOf(databases);
        databases.clear();
        List<String> copies = List.copyOf(saved.values());
        saved.clear();
        TestDatabase.dropAll(dropped);
        for (TestDatabase database : dropped) {
            for (String copy : copies) {
                TestDatabase.drop(database.server(), copy);
            }
        }
    }

    private static String databaseName(Class<?> testClass) {
        String simpleName = testClass.getSimpleName().toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]", "_");
        return newName(simpleName.substring(0, Math.min(simpleName.length(), 50)));
    }

    private static String newName(String beginning) {
        return beginning + "_"
                + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextInt());
    }

    /** Prepares a fresh database for a test class. */
    @FunctionalInterface
    public interface Preparation {
        /** Prepares the database that the connection leads to. */
        void prepare(Connection connection) throws Exception;
    }

    /**
     * The cluster of all test classes; JUnit closes it with its session, which may run each class as a separate test
     * plan.
     */
    private static final class SharedCluster implements AutoCloseable {
        private final Map<String, SharedState> states = new ConcurrentHashMap<>();
        private final Map<String, String> prepared = new ConcurrentHashMap<>();
        private @Nullable PostgresCluster cluster;

        synchronized PostgresCluster withServers(int servers) {
            if (cluster == null) {
                // By default, a worker that failed, or whose table is copied next, only starts after 5 s.
                cluster = PostgresCluster.builder()
                        .servers(servers)
                        .setting("wal_retrieve_retry_interval", "200ms")
                        .start();
            } else {
                cluster.grow(servers);
            }
            return cluster;
        }

        @Override
        public synchronized void close() throws SQLException {
            if (cluster != null) {
                // Servers that are given stay.
                for (PostgresServer server : cluster.servers()) {
                    if (!server.canRestart()) {
                        TestDatabase.dropIfThere(server, prepared.values());
                        TestDatabase.dropIfThere(
                                server,
                                states.values().stream().map(SharedState::copy).toList());
                    }
                }
                cluster.close();
            }
        }
    }

    private record Basis(String name, Preparation preparation) {}

    /** @param name that of the databases of the class that has shared them */
    private record SharedState(String name, String copy) {}
}
