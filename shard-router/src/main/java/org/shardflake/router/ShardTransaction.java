/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.Sharding;

/**
 * A transaction on one shard, for as long as the work given to {@link ShardRouter#write} or {@link ShardRouter#read}
 * runs.
 *
 * <p>Not thread-safe: it is one connection. The router begins it, commits it and gives the connection back.
 */
public final class ShardTransaction {

    /** What stands for the shard's schema in SQL given to {@link #sql}. */
    static final String SCHEMA_PLACEHOLDER = "${shard.schema}";

    private final ShardMap map;
    private final int shard;
    private final Access access;
    private final LentConnection lent;
    private final Connection connection;
    private boolean failed;

    ShardTransaction(ShardMap map, int shard, Access access, LentConnection lent) {
        this.map = map;
        this.shard = shard;
        this.access = access;
        this.lent = lent;
        this.connection = new TransactionConnection(lent);
    }

    /** The logical shard: 0..8191. */
    public int shard() {
        return shard;
    }

    /** The PostgreSQL schema that is this shard, to qualify tables with: {@code shard_0007}. */
    public String schema() {
        return Sharding.schema(shard);
    }

    /** Where the shard is, as the map had it when the transaction began. */
    public ShardPlacement placement() {
        return map.placement(shard);
    }

    /** Whether this is a read, in which PostgreSQL refuses to write. */
    public boolean isReadOnly() {
        return access.readOnly();
    }

    /**
     * The connection of this transaction. It refuses to commit, to roll back and to leave the transaction; closing it does
     * nothing.
     */
    public Connection connection() {
        return connection;
    }

    /** SQL with the shard's schema in place of every <code>${shard.schema}</code>. */
    public String sql(String template) {
        return template.replace(SCHEMA_PLACEHOLDER, schema());
    }

    /**
     * Returns when the key is in this transaction's shard.
     *
     * @throws CrossShardException if it is in another shard, so that a statement about it would find nothing here, or
     *     write a row where nobody looks for it
     */
    public void require(ShardKey key) {
        requireShard(map.shard(key), key);
    }

    void requireShard(int other, Object asked) {
        if (other != shard) {
            throw new CrossShardException(shard, other, asked);
        }
    }

    /** Work inside this transaction has failed, so that whoever goes on regardless cannot keep the rest. */
    void failed() {
        failed = true;
    }

    /**
     * Returns when COMMIT would commit. PostgreSQL answers it with ROLLBACK, and the driver is silent about that, when a
     * statement has failed and the work went on.
     */
    void checkCommittable() throws SQLException {
        if (failed) {
            throw new NotCommittableException("work that joined this transaction has failed", "25P02");
        }
        if (lent.isClosed()) {
            throw new NotCommittableException("the connection was lost before the commit", "08003");
        }
        if (lent.isFailed()) {
            throw new NotCommittableException(
                    "a statement has failed and the work went on, but PostgreSQL has given the transaction up; let the"
                            + " exception through, or use a savepoint around what may fail",
                    "25P02");
        }
    }

    /** Cancels the statement that runs now; for another thread. The connection is not used again. */
    void cancel() {
        lent.cancel();
    }
}
