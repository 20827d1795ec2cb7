/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.sql.SQLException;
import org.shardflake.router.internal.session.RunningReads.Read;

/** A pooled connection whose statements can be cancelled together with those of other servers. */
public record CancellableConnection(LeasedConnection connection, RunningReads reads) {

    /**
     * Runs one statement without the driver's timeout, whose timer would cost a tenth of a short read.
     *
     * @throws java.util.concurrent.CancellationException if the read it belongs to was given up
     */
    public <T> T run(Read<T, SQLException> statement) throws SQLException {
        return reads.run(connection::cancel, statement);
    }
}
