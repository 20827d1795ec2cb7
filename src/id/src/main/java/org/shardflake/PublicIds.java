/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

/**
 * Ids in a form that is safe to show to strangers, for example in URLs: 13 characters that reveal neither a row's time nor its shard nor the
 * number of rows, and that the key turns back into the id.
 *
 * <pre>{@code
 * PublicIds publicIds = new PublicIds(key);              // 16, 24 or 32 secret bytes
 * String text = publicIds.encode(id);                    // 0K9HK295MPD2H
 * ShardflakeId again = publicIds.decode(text);
 * }</pre>
 *
 * <p>The form is a permutation of the ids 0..2<sup>63</sup>-1, so it is unique to each id and never changes. It is the
 * format-preserving encryption FF1 with AES of NIST SP 800-38G, for radix 2, 63 digits and an empty tweak, written as
 * {@linkplain ShardflakeId#toBase32() base32}. The database offers the same in {@code shardflake.id_to_public} and
 * {@code public_to_id}.
 *
 * <p>It hides ids and proves nothing: every well-formed text decodes to some id. The application must still check that
 * the row exists and who may see it. Anyone with the key can read all ids; without it, nobody can read any.
 *
 * <p>Thread-safe. Make one for a key and keep it.
 */
public final class PublicIds {

    private static final String FORM = "a public id";
    private static final int MAX_FIRST = 7;

    private final Ff1 permutation;

    /**
     * Creates public ids with a key.
     *
     * @param key 16, 24 or 32 random bytes, for AES-128, AES-192 or AES-256; they are copied
     * @throws IllegalArgumentException if the key has another length
     */
    public PublicIds(byte[] key) {
        if (key.length != 16 && key.length != 24 && key.length != 32) {
            throw new IllegalArgumentException("key has %s bytes instead of 16, 24 or 32".formatted(key.length));
        }
        permutation = new Ff1(key);
    }

    /**
     * The public form of an id: 13 characters, the first of them 0..7, the others 0-9 and A-Z without I, L, O and U.
     *
     * @throws IllegalArgumentException if the id is negative, which no Shardflake id is
     */
    public String encode(ShardflakeId id) {
        if (id.value() < 0) {
            throw new IllegalArgumentException(
                    "id %s is out of range 0..%s, which have a public form".formatted(id, Long.MAX_VALUE));
        }
        return Base32.encode(permutation.encrypt(id.value()));
    }

    /**
     * The id that has this public form. Accepts lower case too, and reads I and L as 1, and O as 0.
     *
     * @throws NumberFormatException if the text cannot be a public id, saying what is wrong with it
     */
    public ShardflakeId decode(CharSequence text) {
        return ShardflakeId.of(permutation.decrypt(Base32.decode(text, FORM, MAX_FIRST)));
    }
}
