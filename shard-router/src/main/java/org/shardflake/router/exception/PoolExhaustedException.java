/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.exception;

import java.io.Serial;
import java.time.Duration;
import org.shardflake.ShardflakeException;

/** All of a server's pooled connections stayed in use for too long, so nothing was done there. */
public final class PoolExhaustedException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String server;
    private final int size;

    public PoolExhaustedException(String server, int size, int waiting, Duration waited, Throwable cause) {
        super(
                ("all %s connections to server %s were in use for %s ms, with %s threads waiting; make transactions"
                                + " shorter, or the pool larger with ShardRouterBuilder.poolSize")
                        .formatted(size, server, waited.toMillis(), waiting),
                cause);
        this.server = server;
        this.size = size;
    }

    public String server() {
        return server;
    }

    /** The maximum number of connections in the pool. */
    public int size() {
        return size;
    }
}
