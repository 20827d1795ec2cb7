/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import com.zaxxer.hikari.SQLExceptionOverride;
import java.net.SocketException;
import java.sql.SQLException;

/** Notices statements refused because their shard is fenced, also on connections without retries. */
public final class FenceWatch implements SQLExceptionOverride {

    private final Runnable onFence;

    /** @param onFence called when a statement was refused because its shard is fenced */
    public FenceWatch(Runnable onFence) {
        this.onFence = onFence;
    }

    @java.lang.Override // SQLExceptionOverride has an Override of its own.
    public Override adjudicate(SQLException e) {
        if (SqlFailure.isFence(e)) {
            onFence.run();
        }
        if (SqlFailure.isOutdated(e)) {
            return Override.DO_NOT_EVICT; // HikariCP evicts after all of class 0A, but the driver has dropped the plan.
        }
        // A connection that we closed ourselves, for example to cancel its work, has left the pool already.
        return "08003".equals(e.getSQLState()) || (e.getCause() instanceof SocketException closed && isByUs(closed))
                ? Override.DO_NOT_EVICT
                : Override.CONTINUE_EVICT;
    }

    private static boolean isByUs(SocketException e) {
        return "Socket closed".equals(e.getMessage()) || "Closed by interrupt".equals(e.getMessage());
    }
}
