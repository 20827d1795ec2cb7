/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.shardflake.compare.Rows;
import org.shardflake.compare.Rows.Digest;
import org.shardflake.jdbc.Sql;

/**
 * Count and hash of the rows of each shard, in the old table and in the shards.
 *
 * @param wanted of the old table; without shards that have no rows there
 * @param found of all shards
 */
record SliceDigests(Map<Integer, Digest> wanted, Map<Integer, Digest> found) {

    private static final Digest NONE = new Digest(0, "0");

    /**
     * Rows that are left out, since the shards do not have their changes yet.
     *
     * @param followed the adoption whose journal has them; null to leave none out
     * @param keys their primary keys
     * @param primaryKey its columns in the shards
     */
    record Pending(@Nullable Adoption followed, List<List<String>> keys, List<Column> primaryKey) {

        static final Pending NONE = new Pending(null, List.of(), List.of());
    }

    /** Reads the rows of some shards, on all servers in parallel, in one pass over each table. */
    static SliceDigests of(OldTable old, ShardServers servers, Rows rows, Set<Integer> shards, Pending pending)
            throws SQLException {
        Map<Integer, Digest> found = new ConcurrentHashMap<>();
        Future<Map<Integer, Digest>> wanted = servers.start(() -> old.digests(rows, shards, pending.followed()));
        try (Sql.Ending ending = () -> ShardServers.await(wanted)) {
            servers.onAll(server -> found.putAll(server.digests(rows, shards, pending.keys(), pending.primaryKey())));
        }
        return new SliceDigests(ShardServers.await(wanted), found);
    }

    /** The shards that do not have the rows of the old table. */
    List<Integer> differing() {
        return found.keySet().stream()
                .sorted()
                .filter(shard -> !Objects.equals(found.get(shard), wanted.getOrDefault(shard, NONE)))
                .toList();
    }

    /** The shards that differ, in words. */
    List<String> describe() {
        return differing().stream()
                .map(shard -> {
                    long is = found.getOrDefault(shard, NONE).count();
                    long was = wanted.getOrDefault(shard, NONE).count();
                    return is == was
                            ? "shard %s has other values".formatted(shard)
                            : String.format(Locale.ROOT, "shard %s has %,d rows, not %,d", shard, is, was);
                })
                .toList();
    }

    /** The number of rows of the old table that have a shard. */
    long rows() {
        return wanted.values().stream().mapToLong(Digest::count).sum();
    }
}
