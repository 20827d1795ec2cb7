/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.exception;

import java.io.Serial;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;

/** A read over many shards failed on one of them, or missed its deadline. */
public final class ScatterException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String server;

    private ScatterException(String message, String server, @Nullable Throwable cause) {
        super(message, cause);
        this.server = server;
    }

    public static ScatterException ofShard(int shard, String server, Throwable cause) {
        return new ScatterException(
                "shard %s on server %s failed: %s".formatted(shard, server, cause.getMessage()), server, cause);
    }

    public static ScatterException ofServer(String server, Throwable cause) {
        return new ScatterException(
                "the read on server %s failed: %s".formatted(server, cause.getMessage()), server, cause);
    }

    /** The exception for a statement over several shards that failed after some of its rows had been handed over. */
    public static ScatterException cutShort(Throwable cause) {
        return new ScatterException("it was cut short after some of its rows: " + cause.getMessage(), "", cause);
    }

    public static ScatterException late(String what, String server, Duration deadline) {
        return new ScatterException(
                "%s on server %s had no result within the deadline of %s ms; what ran there was cancelled"
                        .formatted(what, server, deadline.toMillis()),
                server,
                null);
    }

    /** The server of the shard that failed. */
    public String server() {
        return server;
    }
}
