/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import java.io.Serial;
import java.net.UnknownHostException;
import java.sql.SQLException;
import java.util.Objects;
import org.shardflake.ShardflakeException;
import org.shardflake.server.ServerUrl;

/** Thrown when a server refuses or fails to do something, or cannot be reached. The message is the driver's. */
public final class ServerRefusalException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String sqlState;

    ServerRefusalException(SQLException cause) {
        super(Kind.FAILURE, message(cause), Sql.hint(cause).orElse(null), cause);
        this.sqlState = Objects.requireNonNullElse(cause.getSQLState(), "");
    }

    /** The driver's message, completed by the reason where it says only that the connection failed. */
    private static String message(SQLException cause) {
        String message = String.valueOf(cause.getMessage());
        return cause.getCause() instanceof UnknownHostException ? ServerUrl.whyUnreachable(cause) : message;
    }

    /** PostgreSQL's SQLSTATE, such as 23505, or empty. */
    public String sqlState() {
        return sqlState;
    }
}
