/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.shardflake.Sharding;
import org.shardflake.router.internal.sqltext.ShardNames;

/** The names in the schemas of a server's shards, asked for again only after a change there. Thread-safe. */
public final class KnownNames {

    private final LongSupplier nanoTime;
    private final Map<Integer, Names> names = new ConcurrentHashMap<>();
    private volatile @Nullable CatalogChanges changes;

    /** The names in a shard's schema, and the state of the database before they were read. */
    private record Names(ShardNames names, CatalogChanges before) {}

    public KnownNames(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /**
     * The names in a shard's schema. Asks the server on this connection, once if nothing is changed there; once a minute it is asked whether
     * that is so.
     *
     * @param isFailed whether the connection's transaction has failed, so that it cannot ask
     */
    public ShardNames of(int shard, Connection pooled, boolean isFailed) throws SQLException {
        Names known = names.get(shard);
        CatalogChanges now = changes;
        if (now == null || now.isOld(nanoTime.getAsLong())) {
            if (isFailed) {
                return ShardNames.UNKNOWN;
            }
            now = CatalogChanges.read(pooled, nanoTime.getAsLong());
            changes = now;
        }
        if (known != null && now.isNothingSince(known.before)) {
            return known.names;
        }
        if (isFailed) {
            return ShardNames.UNKNOWN;
        }
        ShardNames asked = ShardNames.ask(pooled, Sharding.schema(shard));
        names.put(shard, new Names(asked, now));
        return asked;
    }
}
