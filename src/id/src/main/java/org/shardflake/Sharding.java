/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

/**
 * The mapping of sharding keys to logical shards: {@code shard = floorMod(uid, shardCount)}.
 *
 * <p>Immutable. The shard count is chosen once for an installation and then fixed, since changing it would send
 * existing rows' uids elsewhere.
 *
 * @param shardCount the number of logical shards: 1..8192
 */
public record Sharding(int shardCount) {

    /** The number of shards of an installation that did not choose another. */
    public static final int DEFAULT_SHARD_COUNT = 2000;

    public Sharding {
        if (shardCount < 1 || shardCount > IdLayout.MAX_SHARD + 1) {
            throw new IllegalArgumentException(
                    "shard count %s is out of range 1..%s".formatted(shardCount, IdLayout.MAX_SHARD + 1));
        }
    }

    /** The shard that holds rows of this uid; a negative uid has one too. */
    public int shard(long uid) {
        return Math.floorMod(uid, shardCount);
    }

    /**
     * The key for a new id: a uid of the id's shard, for a table whose primary key is also its shard key. Different ids have different keys.
     * {@code shardflake.id_to_key} computes the same in PostgreSQL.
     *
     * @throws IllegalArgumentException if the id is negative, or its shard is none of these
     */
    public long key(long id) {
        if (id < 0) {
            throw new IllegalArgumentException("id %s is negative, and is not the id of a key".formatted(id));
        }
        int shard = IdLayout.checkRange("shard", IdLayout.shard(id), shardCount - 1);
        return (IdLayout.elapsedMillis(id) << IdLayout.SEQUENCE_BITS | IdLayout.sequence(id)) * shardCount + shard;
    }

    /** The shard's PostgreSQL schema: {@code shard_0007}. */
    public static String schema(int shard) {
        // Not String.format: decoding calls this for every id.
        String digits = Integer.toString(IdLayout.checkRange("shard", shard, IdLayout.MAX_SHARD));
        return "shard_" + "0".repeat(4 - digits.length()) + digits;
    }
}
