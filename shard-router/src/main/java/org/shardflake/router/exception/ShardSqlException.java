/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.exception;

import java.io.Serial;
import java.sql.SQLException;
import java.util.Objects;
import org.shardflake.ShardflakeException;

/**
 * A server refused a request of the router itself: to begin or commit a transaction, or a read over many shards. The
 * transaction was rolled back.
 *
 * <p>Exceptions of the application's own statements reach it unchanged.
 */
public final class ShardSqlException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String server;
    private final String sqlState;

    public ShardSqlException(String what, String server, SQLException cause) {
        super("could not %s on server %s: %s".formatted(what, server, cause.getMessage()), cause);
        this.server = server;
        this.sqlState = Objects.requireNonNullElse(cause.getSQLState(), "");
    }

    public String server() {
        return server;
    }

    /** PostgreSQL's error code, such as 23505, or empty. */
    public String sqlState() {
        return sqlState;
    }
}
