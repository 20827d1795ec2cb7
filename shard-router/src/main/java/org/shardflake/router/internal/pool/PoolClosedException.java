/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.pool;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/** A pool was closed before it could be used, since its server left the map; route again. */
public final class PoolClosedException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    PoolClosedException(String server) {
        super("the connections to server %s were closed, since it has left the shard map".formatted(server));
    }
}
