/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * A client written from {@code other-languages.md} alone: plain JDBC, with the page's own statements, and nothing of Shardflake. What is missing
 * here is missing on the page.
 */
final class PageClient implements AutoCloseable {

    private static final long GIVE_UP_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final Set<String> MISSING = Set.of("3F000", "42P01", "42883");

    private final Map<String, String> page;
    private final String catalog;
    private final String user;
    private final String password;
    private final String parameters;
    private final Map<String, Queue<Connection>> pools = new ConcurrentHashMap<>();
    private final Object reading = new Object();
    private final AtomicInteger repeated = new AtomicInteger();
    private @Nullable Thread listener;
    private volatile PlacedShards map;
    private volatile boolean closed;

    record Placed(String server, long epoch, String url) {}

    record PlacedShards(long version, String changedAt, int shardCount, long epochMillis, Map<Integer, Placed> shards) {

        Placed at(int shard) {
            return Objects.requireNonNull(shards.get(shard));
        }
    }

    /** A commit that may or may not have been done. */
    static final class UnknownCommitException extends Exception {
        private static final long serialVersionUID = 1L;

        UnknownCommitException(SQLException cause) {
            super(cause);
        }
    }

    @FunctionalInterface
    interface Work<T> {
        T run(Statement statement, String schema) throws SQLException;
    }

    /**
     * @param page the statements of the page, by the comment in their first line
     * @param parameters the driver's parameters for the connections to the servers, from ? on
     */
    PageClient(Map<String, String> page, String catalog, String user, String password, String parameters)
            throws SQLException {
        this.page = page;
        this.catalog = catalog;
        this.user = user;
        this.password = password;
        this.parameters = parameters;
        this.map = read();
    }

    static long uid(String key) {
        return firstEightBytes(key.getBytes(StandardCharsets.UTF_8));
    }

    static long uid(UUID key) {
        return firstEightBytes(ByteBuffer.allocate(16)
                .putLong(key.getMostSignificantBits())
                .putLong(key.getLeastSignificantBits())
                .array());
    }

    private static long firstEightBytes(byte[] key) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(key);
            long uid = 0;
            for (int i = 0; i < 8; i++) {
                uid = (uid << 8) | (digest[i] & 0xff);
            }
            return uid;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    static int shardOfUid(long uid, int shardCount) {
        return (int) ((uid % shardCount + shardCount) % shardCount);
    }

    static int shardOfId(long id) {
        return (int) (id >>> 10) & 8191;
    }

    PlacedShards map() {
        return map;
    }

    /** The number of times that work was begun again. */
    int repeated() {
        return repeated.get();
    }

    private PlacedShards read() throws SQLException {
        try (Connection connection = connect(catalog, "");
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(page("read the map"))) {
            Map<Integer, Placed> shards = new HashMap<>();
            PlacedShards read = null;
            while (row.next()) {
                shards.put(
                        row.getInt("shard"),
                        new Placed(row.getString("server"), row.getLong("epoch"), row.getString("url")));
                read = new PlacedShards(
                        row.getLong("version"),
                        row.getString("changed_at"),
                        row.getInt("shard_count"),
                        row.getLong("epoch_ms"),
                        shards);
            }
            if (read == null) {
                throw new SQLException("there is no map");
            }
            return read;
        }
    }

    private void refresh() {
        synchronized (reading) {
            try {
                PlacedShards read = read();
                if (read.version() < map.version()) {
                    return;
                }
                if (read.shardCount() != map.shardCount() || read.epochMillis() != map.epochMillis()) {
                    throw new IllegalStateException("the catalog is of another installation");
                }
                map = read;
            } catch (SQLException e) {
                // The page: continue as if the map had not changed.
            }
        }
    }

    /** Follows the map from now on; without it, errors alone lead to the new map. */
    PageClient follow() {
        Thread thread = new Thread(this::listen, "page client");
        thread.setDaemon(true);
        thread.start();
        listener = thread;
        return this;
    }

    private void listen() {
        while (!closed) {
            try (Connection connection = connect(catalog, "");
                    Statement statement = connection.createStatement()) {
                statement.execute(page("listen"));
                while (!closed) {
                    try (ResultSet row = statement.executeQuery(page("poll"))) {
                        row.next();
                        if (row.getLong(1) != map.version() || !row.getString(2).equals(map.changedAt())) {
                            refresh();
                        }
                    }
                    connection.unwrap(PGConnection.class).getNotifications(500);
                }
            } catch (SQLException e) {
                pause(1000);
            }
        }
    }

    /** Runs work in a transaction on the shard of a uid, and again where the shard has moved to. */
    <T> T write(long uid, Work<T> work) throws SQLException, UnknownCommitException {
        int shard = shardOfUid(uid, map.shardCount());
        String schema = String.format(Locale.ROOT, "shard_%04d", shard);
        long begun = System.nanoTime();
        long wait = 2;
        long waitForServer = 2;
        String refusedBy = "";
        while (true) {
            PlacedShards used = map;
            Placed tried = used.at(shard);
            try {
                return attempt(tried, schema, work);
            } catch (SQLException e) {
                if (System.nanoTime() - begun > GIVE_UP_NANOS) {
                    throw new SQLException("gave up on %s at %s".formatted(schema, tried), e);
                }
                if (isLost(e)) {
                    repeated.incrementAndGet();
                    pause(waitForServer);
                    waitForServer = Math.min(2 * waitForServer, 1000);
                    continue;
                }
                boolean isMissing = MISSING.contains(e.getSQLState());
                if (!isMissing && !"SF001".equals(e.getSQLState())) {
                    throw e;
                }
                refresh();
                boolean hasMoved = !map.at(shard).equals(tried);
                if (isMissing && !hasMoved && !isGone(tried, schema)) {
                    throw e;
                }
                repeated.incrementAndGet();
                if (!hasMoved) {
                    wait = tried.server().equals(refusedBy) ? Math.min(2 * wait, 100) : 2;
                    refusedBy = tried.server();
                    pause(wait);
                    refresh();
                }
            }
        }
    }

    private <T> T attempt(Placed placed, String schema, Work<T> work) throws SQLException, UnknownCommitException {
        Connection connection = lend(placed.url());
        boolean isFit = false;
        try (Statement statement = connection.createStatement()) {
            T result;
            try {
                statement.execute("BEGIN");
                result = work.run(statement, schema);
            } catch (SQLException e) {
                isFit = !isLost(e) && rollback(connection);
                throw e;
            }
            try {
                statement.execute(page("ask with the commit").replace("shard_0007", schema));
                isFit = true;
                return result;
            } catch (SQLException e) {
                if (isLost(e) || "40003".equals(e.getSQLState())) {
                    throw new UnknownCommitException(e);
                }
                isFit = rollback(connection);
                throw e;
            }
        } finally {
            if (isFit) {
                pool(placed.url()).add(connection);
            } else {
                connection.close();
            }
        }
    }

    private static boolean rollback(Connection connection) {
        try (Statement statement = connection.createStatement()) {
            statement.execute("ROLLBACK");
            return true;
        } catch (SQLException e) {
            return false;
        }
    }

    private boolean isGone(Placed placed, String schema) throws SQLException {
        try (Connection connection = connect(placed.url(), "");
                Statement statement = connection.createStatement();
                ResultSet row =
                        statement.executeQuery(page("is the shard missing").replace("shard_0007", schema))) {
            row.next();
            return row.getBoolean(1);
        }
    }

    private static boolean isLost(SQLException e) {
        String state = String.valueOf(e.getSQLState());
        return state.startsWith("08") || state.equals("57P01") || state.equals("57P02");
    }

    private String page(String name) {
        String sql = page.get(name);
        if (sql == null) {
            throw new IllegalStateException("the page has no statement to " + name);
        }
        return sql;
    }

    private Queue<Connection> pool(String url) {
        return pools.computeIfAbsent(url, any -> new ConcurrentLinkedQueue<>());
    }

    private Connection lend(String url) throws SQLException {
        Connection idle = pool(url).poll();
        return idle != null ? idle : connect(url, parameters);
    }

    private Connection connect(String url, String more) throws SQLException {
        URI uri = URI.create(url);
        return DriverManager.getConnection(
                "jdbc:postgresql://%s:%s%s%s".formatted(uri.getHost(), uri.getPort(), uri.getPath(), more),
                user,
                password);
    }

    private static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() throws SQLException {
        closed = true;
        Thread thread = listener;
        if (thread != null) {
            try {
                thread.join(10_000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        for (Queue<Connection> pool : pools.values()) {
            for (Connection connection : pool) {
                connection.close();
            }
        }
    }
}
