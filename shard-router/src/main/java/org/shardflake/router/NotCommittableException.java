/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.io.Serial;
import java.sql.SQLException;

/** Found before the commit was sent: this transaction cannot be committed, so nothing of it is there. */
final class NotCommittableException extends SQLException {

    @Serial
    private static final long serialVersionUID = 1L;

    NotCommittableException(String reason, String sqlState) {
        super(reason, sqlState);
    }
}
