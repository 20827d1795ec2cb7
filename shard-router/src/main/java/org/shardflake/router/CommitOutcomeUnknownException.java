/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.io.Serial;
import java.sql.SQLException;
import org.shardflake.ShardflakeException;

/**
 * The connection broke during a commit: either all of the transaction's writes are there or none, and only reading
 * tells which.
 *
 * <p>Never retried, since that could do the work twice.
 */
public final class CommitOutcomeUnknownException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final int shard;
    private final String server;

    CommitOutcomeUnknownException(int shard, String server, SQLException cause) {
        super(
                ("the connection to server %s broke while committing in shard %d: %s. Read back whether the writes are"
                                + " there before repeating them")
                        .formatted(server, shard, cause.getMessage()),
                cause);
        this.shard = shard;
        this.server = server;
    }

    public int shard() {
        return shard;
    }

    public String server() {
        return server;
    }
}
