/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.exception;

import java.io.Serial;
import java.sql.SQLException;
import org.shardflake.ShardflakeException;
import org.shardflake.router.internal.session.LeasedConnection;

/**
 * The connection broke during a commit: either all of the transaction's writes took effect or none, and only reading shows which.
 *
 * <p>Never retried, since that could do the work twice.
 */
public final class CommitOutcomeUnknownException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final int shard;
    private final String server;

    /** @param shard {@link LeasedConnection#MANY_SHARDS} for reference tables */
    public CommitOutcomeUnknownException(int shard, String server, SQLException cause) {
        super(
                ("the connection to server %s broke while committing %s: %s. Read back whether the writes are"
                                + " there before repeating them")
                        .formatted(
                                server,
                                shard == LeasedConnection.MANY_SHARDS ? "to reference tables" : "in shard " + shard,
                                cause.getMessage()),
                cause);
        this.shard = shard;
        this.server = server;
    }

    /** The shard, or -1 for reference tables. */
    public int shard() {
        return shard;
    }

    public String server() {
        return server;
    }
}
