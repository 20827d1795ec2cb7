/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.io.Serial;
import java.sql.SQLException;
import java.util.Objects;
import org.shardflake.ShardflakeException;

/**
 * A server refused something that the router itself asked of it: to begin or commit a transaction, or a read over many
 * shards. The transaction was rolled back.
 *
 * <p>What statements of the application's own throw reaches it as it is.
 */
public final class ShardSqlException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String server;
    private final String sqlState;

    ShardSqlException(String what, String server, SQLException cause) {
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
