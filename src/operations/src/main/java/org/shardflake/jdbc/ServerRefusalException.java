/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import java.io.Serial;
import java.sql.SQLException;
import java.util.Objects;
import org.shardflake.ShardflakeException;

/** A server refused or failed to do what was asked of it, or could not be reached. The message is what the driver says. */
public final class ServerRefusalException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String sqlState;

    ServerRefusalException(SQLException cause) {
        super(String.valueOf(cause.getMessage()), cause);
        this.sqlState = Objects.requireNonNullElse(cause.getSQLState(), "");
    }

    /** PostgreSQL's error code, such as 23505, or empty. */
    public String sqlState() {
        return sqlState;
    }
}
