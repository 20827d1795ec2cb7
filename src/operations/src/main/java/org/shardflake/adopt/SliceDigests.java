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
import org.shardflake.compare.Rows;
import org.shardflake.compare.Rows.Digest;

/**
 * Count and hash of the rows of each shard, in the old table and in the shards.
 *
 * @param wanted of the old table; without shards that have no rows there
 * @param found of all shards
 */
record SliceDigests(Map<Integer, Digest> wanted, Map<Integer, Digest> found) {

    private static final Digest NONE = new Digest(0, "0");

    /**
     * Reads all rows, on all servers in parallel.
     *
     * @param left the shards that are left out, since they have left the old database
     */
    static SliceDigests of(OldTable old, ShardServers servers, Rows rows, Set<Integer> left) throws SQLException {
        Map<Integer, Digest> found = new ConcurrentHashMap<>();
        Future<Map<Integer, Digest>> wanted = servers.start(() -> old.digests(rows));
        servers.onAll(server -> found.putAll(server.digests(rows)));
        Map<Integer, Digest> were = ShardServers.await(wanted);
        found.keySet().removeAll(left);
        were.keySet().removeAll(left);
        return new SliceDigests(were, found);
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
