/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.install;

import java.io.Serial;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.PoolerException;
import org.shardflake.server.ServerUrl;
import org.shardflake.server.StandbyException;
import org.shardflake.sql.DeploymentException;
import org.shardflake.sql.NewerVersionException;

/** Thrown when a server refuses or fails; says which server, and what to check. */
public final class ServerFailedException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    /** Remedy for a standby. */
    public static final String PRIMARY_NEEDED =
            "give the URL of the primary, or of all hosts: postgresql://user@host1:5432,host2:5432/database";

    /** Remedy for a pooler. */
    public static final String DIRECT_NEEDED =
            "give the URL of the server itself; the shard map has the pooler's beside it: shardflake server change NAME --url URL --application-url POOLER_URL";

    private ServerFailedException(Kind kind, String message, @Nullable String hint, Exception cause) {
        super(kind, message, hint, cause);
    }

    /** A failed statement. The server's own hint is passed on. */
    public static ServerFailedException statement(ServerUrl url, SQLException e) {
        return failure(
                e, "server %s: %s".formatted(url, message(e)), Sql.hint(e).orElse(null));
    }

    /** A failed connection. */
    public static ServerFailedException connecting(ServerUrl url, SQLException e) {
        if (e instanceof StandbyException) {
            return new ServerFailedException(Kind.PRECONDITION, String.valueOf(e.getMessage()), PRIMARY_NEEDED, e);
        }
        if (e instanceof PoolerException) {
            return new ServerFailedException(Kind.PRECONDITION, String.valueOf(e.getMessage()), DIRECT_NEEDED, e);
        }
        String state = String.valueOf(e.getSQLState());
        if (state.startsWith("28") || state.equals("08004")) {
            return failure(
                    e,
                    "server %s refused to log in: %s".formatted(url, message(e)),
                    "give the password in PGPASSWORD, in ~/.pgpass or in the URL, and check pg_hba.conf");
        }
        if (state.startsWith("08")) {
            return failure(
                    e,
                    "cannot reach server %s: %s".formatted(url.hosts(), reason(e)),
                    "check host and port, and that PostgreSQL runs there and listens for TCP connections");
        }
        return failure(e, "server %s refused the connection: %s".formatted(url, message(e)), null);
    }

    /** A failed deployment of our own SQL. */
    static ServerFailedException deploying(ServerUrl url, DeploymentException e) {
        String message = "server %s: %s".formatted(url, e.getMessage());
        return e instanceof NewerVersionException
                ? new ServerFailedException(Kind.PRECONDITION, message, "use the newer shardflake that deployed it", e)
                : new ServerFailedException(Kind.FAILURE, message, null, e);
    }

    private static ServerFailedException failure(SQLException cause, String message, @Nullable String hint) {
        return new ServerFailedException(Kind.FAILURE, message, hint, cause);
    }

    private static String reason(SQLException e) {
        Throwable cause = e;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        if (cause instanceof UnknownHostException) {
            return "unknown host " + cause.getMessage();
        }
        if (cause instanceof SocketTimeoutException) {
            return "no answer in time";
        }
        return cause instanceof ConnectException || cause instanceof NoRouteToHostException
                ? String.valueOf(cause.getMessage())
                : message(e);
    }

    private static String message(SQLException e) {
        String text = String.valueOf(e.getMessage());
        return text.lines().findFirst().orElse(text).replaceFirst("^(FATAL|ERROR): ", "");
    }
}
