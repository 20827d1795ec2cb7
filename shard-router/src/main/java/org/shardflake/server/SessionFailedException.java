/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.io.Serial;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * A failure of a session rather than of its statement: it was ended or cancelled, rows are hidden from it, or the server lacks room. The message names the
 * server, which the driver's does not, and ends with a hint as a server's would.
 */
public final class SessionFailedException extends SQLException {

    @Serial
    private static final long serialVersionUID = 1L;

    private static final String AGAIN = "; then run the same command again";

    /** The settings that end sessions, by SQLSTATE. Ours set them to 0 when they begin. */
    private static final Map<String, String> TIMEOUTS = Map.of(
            "57P05", "idle_session_timeout",
            "25P03", "idle_in_transaction_session_timeout",
            "25P04", "transaction_timeout");

    private static final String TIMEOUT_HINT =
            "%1$s ended it, which commands set to 0 when they begin: see whether a login trigger, a function or a pooler sets it again, and what ALTER ROLE, ALTER DATABASE or postgresql.conf say"
                    + AGAIN;

    private static final Map<String, String> HINTS = Map.of(
            "57P01", "pg_terminate_backend, a restart or a failover ended it; see in the server's log which" + AGAIN,
            "57P02", "another process of the server crashed; see in the server's log why" + AGAIN,
            "57P03", "wait until it has started" + AGAIN,
            "57014",
                    "someone cancelled it with pg_cancel_backend, or a function or a trigger has set statement_timeout; see in the server's log which"
                            + AGAIN,
            "53100", "free space on the server's disk, or give it a larger one" + AGAIN,
            "53200", "give the server more memory, or others less (work_mem, maintenance_work_mem)" + AGAIN,
            "53300", "wait until others disconnect, or raise max_connections" + AGAIN,
            "53400", "wait until others are done, or raise the setting" + AGAIN);

    private static final String LOST_HINT =
            "see in the server's log whether it was restarted, and whether a firewall or a proxy on the way cuts idle connections"
                    + AGAIN;

    private static final String UNREACHABLE_HINT =
            "check host and port, and that PostgreSQL runs there and listens for TCP connections" + AGAIN;

    /** PostgreSQL's functions that refuse to hide rows, with their SQLSTATE; the message is in the server's language. */
    private static final Map<String, String> HIDES_ROWS = Map.of("check_enable_rls", "42501", "DoCopy", "0A000");

    private static final String HIDDEN_HINT =
            "use a role that sees all rows there: their owner, unless the policies are forced, or one with BYPASSRLS";

    private static final Map<Connection, Session> SESSIONS = Collections.synchronizedMap(new WeakHashMap<>());

    private final boolean isLost;

    private SessionFailedException(String message, boolean isLost, SQLException cause) {
        super(message, cause.getSQLState(), cause);
        this.isLost = isLost;
    }

    /** The server of an open session, and why the session was lost. */
    private static final class Session {

        private final String server;
        private volatile @Nullable String loss;

        Session(String server) {
            this.server = server;
        }
    }

    /** Remembers which server a session leads to, for as long as it is used. */
    static void opened(Connection connection, String server) {
        SESSIONS.put(connection, new Session(server));
    }

    /**
     * The exception for a failed session, or for rows hidden from it, with the server's name if {@link ServerUrl} opened the session. Others
     * are returned as they are.
     */
    public static SQLException of(Connection connection, SQLException e) {
        Session session = SESSIONS.get(connection);
        if (session == null || e instanceof SessionFailedException) {
            return e;
        }
        Optional<SessionFailedException> found = of(session.server, session.loss, e);
        found.filter(SessionFailedException::isLost)
                .filter(failure -> session.loss == null)
                .ifPresent(failure -> session.loss = String.valueOf(failure.getMessage()));
        return found.isPresent() ? found.get() : hidden(session.server, e);
    }

    /** Names the server in a failure to open a session; other failures are returned unchanged. */
    static SQLException connecting(String server, SQLException e) {
        return e instanceof SessionFailedException || e instanceof StandbyException || e instanceof PoolerException
                ? e
                : of(server, null, e)
                        .map(failure -> failure.isLost && isConnection(e) ? unreachable(server, e) : failure)
                        .map(SQLException.class::cast)
                        .orElse(e);
    }

    /** Names the server in a failure if row-level security would hide rows from the session; other failures are returned unchanged. */
    public static SQLException hidden(String server, SQLException e) {
        ServerErrorMessage said = e instanceof PSQLException its ? its.getServerErrorMessage() : null;
        String routine = said == null ? null : said.getRoutine();
        if (said == null || routine == null || !String.valueOf(e.getSQLState()).equals(HIDES_ROWS.get(routine))) {
            return e;
        }
        return new SessionFailedException(
                "%s: %s\n  Hint: %s".formatted(server, said.getMessage(), HIDDEN_HINT), false, e);
    }

    private static boolean isConnection(SQLException e) {
        return String.valueOf(e.getSQLState()).startsWith("08");
    }

    private static SessionFailedException unreachable(String server, SQLException e) {
        return new SessionFailedException(
                withHint("cannot connect to %s: %s".formatted(server, why(e)), UNREACHABLE_HINT), true, e);
    }

    /** Whether the session is over. */
    public boolean isLost() {
        return isLost;
    }

    private static Optional<SessionFailedException> of(String server, @Nullable String lossBefore, SQLException e) {
        String state = String.valueOf(e.getSQLState());
        boolean isAnswer = e instanceof PSQLException answer && answer.getServerErrorMessage() != null;
        if (state.startsWith("08")) {
            // What a server answers is about a connection of its own, and protocol violations are about a statement.
            if (isAnswer || state.equals("08P01")) {
                return Optional.empty();
            }
            String message = lossBefore != null
                    ? lossBefore
                    : withHint("the connection to %s was lost: %s".formatted(server, why(e)), LOST_HINT);
            return Optional.of(new SessionFailedException(message, true, e));
        }
        String text = String.valueOf(e.getMessage()).replaceFirst("^(FATAL|ERROR): ", "");
        boolean isEnd = state.startsWith("57P") || TIMEOUTS.containsKey(state);
        String setting = TIMEOUTS.get(state);
        String hint = setting != null ? TIMEOUT_HINT.formatted(setting) : HINTS.get(state);
        if (!isEnd && hint == null) {
            return Optional.empty();
        }
        String message =
                (isEnd && !state.equals("57P03") ? "%s ended the session: %s" : "%s: %s").formatted(server, text);
        return Optional.of(new SessionFailedException(withHint(message, hint), isEnd, e));
    }

    private static String why(SQLException e) {
        Optional<NoAnswerException> silent = NoAnswerException.in(e);
        if (silent.isPresent()) {
            return String.valueOf(silent.get().getMessage());
        }
        Throwable cause = e;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        String text = cause == e || cause.getMessage() == null ? String.valueOf(e.getMessage()) : cause.getMessage();
        return text.lines().findFirst().orElse("").replaceFirst("\\.$", "");
    }

    private static String withHint(String message, @Nullable String hint) {
        return hint == null || message.contains("\n  Hint: ") ? message : message + "\n  Hint: " + hint;
    }
}
