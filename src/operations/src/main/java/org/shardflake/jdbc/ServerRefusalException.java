/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import java.io.Serial;
import java.sql.SQLException;
import java.util.Objects;
import org.shardflake.ShardflakeException;

/** Thrown when a server refuses or fails to do something, or cannot be reached. The message is the driver's. */
public final class ServerRefusalException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String sqlState;

    ServerRefusalException(SQLException cause) {
        super(Kind.FAILURE, String.valueOf(cause.getMessage()), Sql.hint(cause).orElse(null), cause);
        this.sqlState = Objects.requireNonNullElse(cause.getSQLState(), "");
    }

    /** PostgreSQL's SQLSTATE, such as 23505, or empty. */
    public String sqlState() {
        return sqlState;
    }
}
