/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.ShardingKey;
import java.util.UUID;

/**
 * A key that selects a shard: a uid, an id, or the shard's number itself.
 *
 * <p>A uid and an id are both a {@code long} but lead to different shards, so a key says which it is. Immutable. Also a
 * JDBC {@link ShardingKey}, for frameworks that route by those.
 */
public final class ShardKey implements ShardingKey {

    private enum Kind {
        UID,
        ID,
        SHARD
    }

    private final Kind kind;
    private final long value;

    private ShardKey(Kind kind, long value) {
        this.kind = kind;
        this.value = value;
    }

    /** The key of the shard that holds rows of this uid: {@code floorMod(uid, shardCount)}. */
    public static ShardKey uid(long uid) {
        return new ShardKey(Kind.UID, uid);
    }

    /** The key of the shard for the uid that is this text's {@link #hash(String) hash}. */
    public static ShardKey uid(String uid) {
        return uid(hash(uid));
    }

    /** The key of the shard for the uid that is this UUID's {@link #hash(UUID) hash}. */
    public static ShardKey uid(UUID uid) {
        return uid(hash(uid));
    }

    /** The key of the shard in which this id was created, read from the id itself. */
    public static ShardKey id(long id) {
        return new ShardKey(Kind.ID, id);
    }

    /** The key of the shard in which this id was created, read from the id itself. */
    public static ShardKey id(ShardflakeId id) {
        return id(id.value());
    }

    /** The key of a shard itself. */
    public static ShardKey shard(int shard) {
        return new ShardKey(Kind.SHARD, IdLayout.checkRange("shard", shard, IdLayout.MAX_SHARD));
    }

    /**
     * The uid derived from a text: the first 8 bytes of the SHA-256 of its UTF-8 form, big-endian.
     *
     * <p>This never changes, and {@code shardflake.key_hash(text)} computes the same in PostgreSQL. {@code "alice"}
     * gives 3159282601090220207.
     */
    public static long hash(String key) {
        return firstEightBytes(key.getBytes(UTF_8));
    }

    /**
     * The uid derived from a UUID: the first 8 bytes of the SHA-256 of its 16 bytes, big-endian.
     *
     * <p>This never changes, and {@code shardflake.key_hash(uuid)} computes the same in PostgreSQL.
     */
    public static long hash(UUID key) {
        return firstEightBytes(ByteBuffer.allocate(16)
                .putLong(key.getMostSignificantBits())
                .putLong(key.getLeastSignificantBits())
                .array());
    }

    private static long firstEightBytes(byte[] key) {
        try {
            return ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(key))
                    .getLong();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    int shard(ShardMap map) {
        return switch (kind) {
            case UID -> map.shardOfUid(value);
            case ID -> map.shardOfId(value);
            case SHARD -> map.checkShard((int) value);
        };
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ShardKey key && kind == key.kind && value == key.value;
    }

    @Override
    public int hashCode() {
        return 31 * kind.hashCode() + Long.hashCode(value);
    }

    /** The key for messages, such as {@code uid 42} or {@code shard 7}. */
    @Override
    public String toString() {
        return switch (kind) {
            case UID -> "uid " + value;
            case ID -> "id " + value;
            case SHARD -> "shard " + value;
        };
    }
}
