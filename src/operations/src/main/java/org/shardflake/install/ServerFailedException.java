/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.install;

import java.io.Serial;
import java.security.cert.CertificateException;
import java.sql.SQLException;
import java.util.Optional;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
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
    public static final Advice DIRECT_NEEDED = Advice.of(
            "give the URL of the server itself; the shard map has the pooler's next to it: %s",
            CliCommand.SERVER_CHANGE_POOLER);

    private ServerFailedException(Kind kind, String message, @Nullable CharSequence hint, Exception cause) {
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
        @Nullable String hint = hint(e).orElse(null);
        if (isLogin(e)) {
            return failure(e, "server %s refused to log in: %s".formatted(url, message(e)), hint);
        }
        return isUnreachable(e)
                ? failure(e, "cannot reach server %s: %s".formatted(url.hosts(), ServerUrl.whyUnreachable(e)), hint)
                : failure(e, "server %s refused the connection: %s".formatted(url, message(e)), hint);
    }

    /** What to do about a failed connection. */
    public static Optional<String> hint(SQLException e) {
        if (isEncryption(e)) {
            return Optional.of("check sslmode and sslrootcert in the URL, and ssl in the server's settings");
        }
        if (isLogin(e)) {
            return Optional.of("give the password in PGPASSWORD, in ~/.pgpass or in the URL, and check pg_hba.conf");
        }
        return isUnreachable(e)
                ? Optional.of("check host and port, and that PostgreSQL runs there and listens for TCP connections")
                : Optional.empty();
    }

    /** The driver has no state of its own for it. */
    private static boolean isEncryption(SQLException e) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof SSLException || cause instanceof CertificateException) {
                return true;
            }
        }
        return String.valueOf(e.getMessage()).contains("does not support SSL");
    }

    private static boolean isLogin(SQLException e) {
        String state = String.valueOf(e.getSQLState());
        return !isEncryption(e) && (state.startsWith("28") || state.equals("08004"));
    }

    private static boolean isUnreachable(SQLException e) {
        return String.valueOf(e.getSQLState()).startsWith("08");
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

    private static String message(SQLException e) {
        String text = String.valueOf(e.getMessage());
        return text.lines().findFirst().orElse(text).replaceFirst("^(FATAL|ERROR): ", "");
    }
}
