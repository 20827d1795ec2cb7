/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.io.Serial;
import java.sql.SQLException;

/** The transaction cannot be committed; thrown before the commit was sent, so that none of its writes took effect. */
public final class NotCommittableException extends SQLException {

    @Serial
    private static final long serialVersionUID = 1L;

    public NotCommittableException(String reason, String sqlState) {
        super(reason, sqlState);
    }
}
