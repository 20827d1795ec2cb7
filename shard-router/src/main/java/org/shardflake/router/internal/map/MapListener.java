/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.map;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.router.internal.session.RouterLog;
import org.shardflake.server.ServerUrl;
import org.shardflake.server.SharedSessions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Refreshes a map when the catalog notifies, at every poll interval, and when woken.
 *
 * <p>Two daemon threads: one blocks in LISTEN on a connection of its own, the other polls. A LISTEN connection that dies
 * silently therefore costs nothing but time. Listening begins half a second after the start.
 */
final class MapListener implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(RouterLog.NAME);
    private static final int CONNECT_TIMEOUT_SECONDS = 5;
    private static final Duration RECONNECT_PAUSE = Duration.ofSeconds(1);
    /** The pause before the first refresh: the map was just read, and a starting application needs its processors for other things. */
    private static final Duration START_PAUSE = Duration.ofMillis(500);
    /** The longest wait for a notification; after it, the connection is checked and the next wait begins. */
    private static final int WAIT_MILLIS = 10_000;

    private final MapSource maps;
    private final ServerUrl url;
    private final Login login;
    private final Duration pollInterval;
    private final Semaphore wake = new Semaphore(0);
    private final Thread poller = thread("shardflake-map-poll", this::poll);
    private final Thread listener = thread("shardflake-map-listen", this::listen);
    private volatile @Nullable Connection listening;
    private volatile Runnable onPoll = () -> {};
    private volatile boolean closed;

    MapListener(MapSource maps, ServerUrl url, Login login, Duration pollInterval) {
        this.maps = maps;
        this.url = url;
        this.login = login;
        this.pollInterval = pollInterval;
    }

    private static Thread thread(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        return thread;
    }

    /** @param polled runs after each interval in which nobody asked for a refresh; must not throw */
    void start(Runnable polled) {
        onPoll = polled;
        poller.start();
        listener.start();
    }

    void wake() {
        wake.release();
    }

    private void poll() {
        try {
            while (!closed) {
                boolean isAsked = wake.tryAcquire(pollInterval.toMillis(), TimeUnit.MILLISECONDS);
                wake.drainPermits();
                if (!closed) {
                    maps.refresh();
                }
                if (!closed && !isAsked) {
                    onPoll.run();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // Closed.
        }
    }

    private void listen() {
        pause(START_PAUSE);
        while (!closed) {
            try (Connection connection = connect()) {
                listening = connection;
                wake(); // Catches up on what happened while nobody listened.
                waitForNotifications(connection);
            } catch (SQLFeatureNotSupportedException e) {
                return; // Polling is all there is.
            } catch (SQLException e) {
                // The poller finds and reports a catalog that is down.
                pause(RECONNECT_PAUSE);
            } finally {
                listening = null;
            }
        }
    }

    private Connection connect() throws SQLException {
        PGSimpleDataSource source = login.source(url);
        source.setApplicationName("shardflake router, listening");
        source.setConnectTimeout(CONNECT_TIMEOUT_SECONDS);
        source.setSocketTimeout(CONNECT_TIMEOUT_SECONDS); // The wait for notifications has its own timeout.
        source.setTcpKeepAlive(true);
        if (source.getServerNames().length > 1) {
            source.setTargetServerType("primary"); // A standby does not take LISTEN.
        }
        Connection connection = source.getConnection();
        try (Statement statement = connection.createStatement()) {
            if (SharedSessions.isBehind(connection, source::getConnection)) {
                LOG.warn(
                        "the catalog's URL is that of a pooler that passes no notifications on, so the shard map is asked for every {} ms;"
                                + " give the router the catalog's own URL",
                        pollInterval.toMillis());
                throw new SQLFeatureNotSupportedException("a pooler would keep the LISTEN for others");
            }
            statement.execute("LISTEN " + ShardCatalog.CHANNEL);
            return connection;
        } catch (SQLException e) {
            connection.close();
            throw e;
        }
    }

    private void waitForNotifications(Connection connection) throws SQLException {
        PGConnection notified = connection.unwrap(PGConnection.class);
        while (!closed) {
            PGNotification[] notifications = notified.getNotifications(WAIT_MILLIS);
            if (notifications != null && notifications.length > 0) {
                wake();
            } else if (!closed && !connection.isValid(CONNECT_TIMEOUT_SECONDS)) {
                return;
            }
        }
    }

    private void pause(Duration pause) {
        try {
            Thread.sleep(pause.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            closed = true;
        }
    }

    @Override
    public void close() {
        closed = true;
        poller.interrupt();
        listener.interrupt();
        Connection connection = listening;
        if (connection != null) {
            try {
                // close() would wait for the lock that the blocked read holds.
                connection.abort(Runnable::run);
            } catch (SQLException e) {
                // It is closed, which is all we want.
            }
        }
    }
}
