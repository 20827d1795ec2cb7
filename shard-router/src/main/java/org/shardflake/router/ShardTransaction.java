/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.router.exception.CrossShardException;
import org.shardflake.router.internal.jdbc.TransactionConnection;
import org.shardflake.router.internal.pool.Access;
import org.shardflake.router.internal.session.LeasedConnection;
import org.shardflake.router.internal.session.NotCommittableException;

/**
 * A transaction on one shard, valid while the work given to {@link ShardRouter#write} or {@link ShardRouter#read} runs.
 *
 * <p>Not thread-safe, since it uses one connection. The router begins it, commits it and returns the connection.
 */
public final class ShardTransaction {

    /** The placeholder for the shard's schema in SQL given to {@link #sql}. */
    static final String SCHEMA_PLACEHOLDER = "${shard.schema}";

    private final ShardMap map;
    private final int shard;
    private final Access access;
    private final LeasedConnection lent;
    private final Connection connection;
    private final @Nullable ShardKey attempted;
    private final LookupChanges lookups = new LookupChanges();
    private final TakenBack takenBack;
    private boolean failed;

    /**
     * A transaction that the router ends.
     *
     * @param takenBack what is undone before the next run of its work
     */
    ShardTransaction(ShardMap map, int shard, Access access, LeasedConnection lent, TakenBack takenBack) {
        this(map, shard, access, lent, takenBack, null);
    }

    /** A transaction that a framework ends, inside the {@link ShardAttempt attempt} for this key. */
    ShardTransaction(
            ShardMap map,
            int shard,
            Access access,
            LeasedConnection lent,
            TakenBack takenBack,
            @Nullable ShardKey attempted) {
        this.map = map;
        this.shard = shard;
        this.access = access;
        this.lent = lent;
        this.connection = new TransactionConnection(lent);
        this.takenBack = takenBack;
        this.attempted = attempted;
    }

    /** The logical shard: 0..8191. */
    public int shard() {
        return shard;
    }

    /**
     * The schema of the shard's tables, for qualifying them: {@code shard_0007}, or the {@linkplain ShardRouterBuilder#oldDatabase old
     * database}'s while the shard is there.
     */
    public String schema() {
        return lent.schema();
    }

    /** The shard's placement in the map when the transaction began, even if the shard is still in an old database. */
    public ShardPlacement placement() {
        return map.placement(shard);
    }

    /** Whether this is a read, in which PostgreSQL refuses to write. */
    public boolean isReadOnly() {
        return access.readOnly();
    }

    /**
     * The connection of this transaction. It refuses to commit, roll back or leave the transaction; closing it does
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
     * Checks that the key is in this transaction's shard.
     *
     * @throws CrossShardException if it is in another shard, where a statement here would find nothing, or write a row
     *     that nobody finds
     */
    public void require(ShardKey key) {
        requireShard(map.shard(key), key);
    }

    void requireShard(int other, Object asked) {
        if (other != shard) {
            throw new CrossShardException(
                    "%s is in shard %s, but this transaction is of shard %s%s; a transaction belongs to one shard, so end it first"
                            .formatted(asked, other, shard, attempted == null ? "" : ", for " + attempted),
                    shard,
                    other);
        }
    }

    /** Whether a framework ends the transaction, not the router. */
    boolean isOfAttempt() {
        return attempted != null;
    }

    /** The claims and releases of this transaction. */
    LookupChanges lookups() {
        return lookups;
    }

    /** The changes that are undone before the work in this transaction runs again. */
    TakenBack takenBack() {
        return takenBack;
    }

    LeasedConnection lent() {
        return lent;
    }

    /** Notes that work inside this transaction has failed, so that it cannot commit the rest. */
    void failed() {
        failed = true;
    }

    /** Checks that COMMIT would commit, and that no work inside the transaction has failed. */
    void checkCommittable() throws SQLException {
        if (failed) {
            throw new NotCommittableException("work that joined this transaction has failed", "25P02");
        }
        lent.requireCommittable();
    }

    /** Cancels the running statement; called from another thread. The connection is not used again. */
    void cancel() {
        lent.cancel();
    }
}
