/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import com.zaxxer.hikari.SQLExceptionOverride;
import java.sql.SQLException;

/** Notices that a statement was refused because its shard is fenced, also on connections that no retry looks after. */
final class FenceWatch implements SQLExceptionOverride {

    private final Runnable onFence;

    FenceWatch(Runnable onFence) {
        this.onFence = onFence;
    }

    @java.lang.Override // SQLExceptionOverride has an Override of its own.
    public Override adjudicate(SQLException e) {
        if (SqlFailure.of(e) == SqlFailure.FENCED) {
            onFence.run();
        }
        return Override.CONTINUE_EVICT;
    }
}
