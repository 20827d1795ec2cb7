/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.io.Serial;
import java.sql.SQLException;
import java.sql.SQLTransientException;

/** The old database did not let a transaction begin its work: the shard has left, or is leaving. Nothing was done. */
public final class NotEnteredException extends SQLTransientException {

    @Serial
    private static final long serialVersionUID = 1L;

    NotEnteredException(SQLException cause) {
        super(cause.getMessage(), cause.getSQLState(), cause);
    }
}
