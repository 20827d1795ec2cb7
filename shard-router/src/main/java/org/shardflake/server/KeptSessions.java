/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Sessions that are kept when they are closed, and reused by the next connection to the same server: a login takes longer than most queries of
 * an examination. {@link ServerUrl#keeping} makes the URLs that take part.
 *
 * <p>Nothing of the work before is left in a session: its transaction is rolled back, and {@code DISCARD ALL} takes settings, locks,
 * temporary tables and prepared statements away. A session that fails in the meantime is replaced by a new one. Thread-safe.
 */
public final class KeptSessions {

    private final Map<String, Deque<Connection>> idle = new HashMap<>();
    private boolean keeps;

    /** Stops keeping sessions when closed, and closes those that are not in use; for try-with-resources. */
    @FunctionalInterface
    public interface Keeping extends AutoCloseable {
        @Override
        void close();
    }

    /** Makes a kept session ready for its next use. */
    @FunctionalInterface
    interface Renewal {
        void renew(Connection session) throws SQLException;
    }

    /** Keeps closed sessions from now on, until the result is closed. */
    public Keeping keep() {
        synchronized (idle) {
            keeps = true;
        }
        return this::end;
    }

    private void end() {
        List<Connection> left = new ArrayList<>();
        synchronized (idle) {
            keeps = false;
            idle.values().forEach(left::addAll);
            idle.clear();
        }
        left.forEach(KeptSessions::close);
    }

    /**
     * Lends a session, kept or new; closing the session returns it.
     *
     * @param url what tells servers and logins apart
     */
    Connection lend(String url, Renewal renewal, SharedSessions.Opener opener) throws SQLException {
        Connection session = kept(url);
        while (session != null) {
            try {
                renewal.renew(session);
                return lent(url, session);
            } catch (SQLException e) {
                close(session); // It was lost while it was kept.
                session = kept(url);
            }
        }
        return lent(url, opener.open());
    }

    private @Nullable Connection kept(String url) {
        synchronized (idle) {
            Deque<Connection> sessions = idle.get(url);
            return sessions == null ? null : sessions.poll();
        }
    }

    private Connection lent(String url, Connection session) {
        AtomicBoolean isGivenBack = new AtomicBoolean();
        return (Connection) Proxy.newProxyInstance(
                KeptSessions.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "close" -> {
                            if (!isGivenBack.getAndSet(true)) {
                                giveBack(url, session);
                            }
                            return null;
                        }
                        case "isClosed" -> {
                            return isGivenBack.get() || session.isClosed();
                        }
                        case "equals" -> {
                            return proxy == arguments[0];
                        }
                        case "hashCode" -> {
                            return System.identityHashCode(proxy);
                        }
                        default -> {
                            if (isGivenBack.get()) {
                                throw new SQLException("the connection is closed", "08003");
                            }
                            return call(session, method, arguments);
                        }
                    }
                });
    }

    private static @Nullable Object call(Connection session, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        try {
            return method.invoke(session, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }

    private void giveBack(String url, Connection session) {
        if (keeps() && isCleared(session)) {
            synchronized (idle) {
                if (keeps) {
                    idle.computeIfAbsent(url, u -> new ArrayDeque<>()).push(session);
                    return;
                }
            }
        }
        close(session);
    }

    private boolean keeps() {
        synchronized (idle) {
            return keeps;
        }
    }

    private static boolean isCleared(Connection session) {
        try (Statement statement = session.createStatement()) {
            if (!session.getAutoCommit()) {
                session.rollback();
                session.setAutoCommit(true);
            }
            session.setReadOnly(false);
            statement.execute("DISCARD ALL");
            return true;
        } catch (SQLException e) {
            return false;
        }
    }

    /** Closes a session; an error is ignored, since a server that is gone has ended the session, too. */
    private static void close(Connection session) {
        try {
            session.close();
        } catch (SQLException e) {
            // It is of no use any more.
        }
    }
}
