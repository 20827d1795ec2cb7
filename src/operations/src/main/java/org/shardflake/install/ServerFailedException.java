/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.install;

import java.io.Serial;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerFailure;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.DeploymentException;
import org.shardflake.sql.NewerVersionException;

/** Thrown when a server refuses or fails; names the server, and what to check. */
public final class ServerFailedException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private ServerFailedException(Kind kind, String message, @Nullable CharSequence hint, Exception cause) {
        super(kind, message, hint, cause);
    }

    /** A failed statement. The server's own hint is passed on. */
    public static ServerFailedException statement(ServerUrl url, SQLException e) {
        return new ServerFailedException(
                Kind.FAILURE,
                "server %s: %s".formatted(url, message(e)),
                Sql.hint(e).orElse(null),
                e);
    }

    /** A failed connection. */
    public static ServerFailedException connecting(ServerUrl url, SQLException e) {
        Optional<ServerFailure> failure = ServerFailure.whileConnecting(e);
        return new ServerFailedException(
                failure.map(ServerFailure::kind).orElse(Kind.FAILURE),
                connecting(url, e, failure),
                failure.map(ServerFailure::advice).orElse(null),
                e);
    }

    private static String connecting(ServerUrl url, SQLException e, Optional<ServerFailure> failure) {
        if (failure.filter(List.of(ServerFailure.STANDBY, ServerFailure.POOLER, ServerFailure.PASSWORD)::contains)
                .isPresent()) {
            return String.valueOf(e.getMessage());
        }
        if (failure.filter(ServerFailure.LOGIN::equals).isPresent()) {
            return "server %s refused to log in: %s".formatted(url, message(e));
        }
        return String.valueOf(e.getSQLState()).startsWith("08")
                ? "cannot reach server %s: %s".formatted(url.hosts(), ServerUrl.whyUnreachable(e))
                : "server %s refused the connection: %s".formatted(url, message(e));
    }

    /** A failed deployment of our own SQL. */
    static ServerFailedException deploying(ServerUrl url, DeploymentException e) {
        String message = "server %s: %s".formatted(url, e.getMessage());
        return e instanceof NewerVersionException
                ? new ServerFailedException(Kind.PRECONDITION, message, NewerVersionException.REMEDY, e)
                : new ServerFailedException(Kind.FAILURE, message, null, e);
    }

    private static String message(SQLException e) {
        String text = String.valueOf(e.getMessage());
        return text.lines().findFirst().orElse(text).replaceFirst("^(FATAL|ERROR): ", "");
    }
}
