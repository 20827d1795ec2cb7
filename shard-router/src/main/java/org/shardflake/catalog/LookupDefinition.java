/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;
import org.shardflake.ShardKey;

/**
 * A lookup as the catalog describes it: what its values are like, and how they are kept in the shards.
 *
 * @param number stands for the name in the shards
 * @param unique whether one row only can hold a value
 * @param ignoresCase whether the letters A to Z are taken for a to z
 * @param hashed whether only the SHA-256 of a value is kept
 * @param source the column that holds the values, if one does
 */
public record LookupDefinition(
        int number,
        String name,
        boolean unique,
        boolean ignoresCase,
        boolean hashed,
        Optional<Source> source,
        State state) {

    /** The longest value that is stored verbatim, in bytes of UTF-8; longer ones are hashed. An index of PostgreSQL takes little more. */
    public static final int LONGEST_VALUE = 1000;

    private static final int SHOWN = 60;

    /** The life cycle of a lookup. */
    public enum State {
        /** The lookup's tables may still be missing in some shards. */
        CREATING,
        /** New values are claimed, but values of older rows may be missing. */
        FILLING,
        /** Every row can be found. */
        READY,
        /** The lookup's values are being deleted. */
        DROPPING;

        static State of(String name) {
            return valueOf(name.toUpperCase(Locale.ROOT));
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** A table of each shard, and its column whose values find rows. */
    public record Source(String table, String column, String uidColumn, String idColumn) {}

    /**
     * A value as it is stored, and the key of the shard that stores it.
     *
     * @param key leads to the shard that keeps it: the hash of the value, with its case ignored if the lookup does
     */
    public record Value(String kept, ShardKey key) {}

    /**
     * The stored form of a value, and the shard that stores it. Values of one form are the same value. In SQL the form is {@code value}, or
     * {@code lower(value COLLATE "C")} if the lookup ignores case, or, if it hashes, {@code encode(sha256(convert_to(form, 'UTF8')), 'hex')};
     * the shard is that of {@code shardflake.key_hash(form)}.
     *
     * @throws IllegalArgumentException if no lookup, or not this one, can keep it
     */
    public Value value(String text) {
        // Only A to Z: what else is a capital letter changes with versions of Java, of PostgreSQL and of its libraries.
        String form = ignoresCase ? lower(text) : text;
        byte[] bytes = utf8(form);
        if (form.isEmpty() || form.indexOf('\0') >= 0) {
            throw new IllegalArgumentException(
                    "a value of lookup %s is %s, which cannot be looked up; allowed: 1 character or more, not the character 0"
                            .formatted(name, form.isEmpty() ? "empty" : shown(text)));
        }
        if (!hashed && bytes.length > LONGEST_VALUE) {
            throw new IllegalArgumentException(String.format(
                    Locale.ROOT,
                    "a value of lookup %s has %,d bytes: %s; allowed: %,d, or any number in a lookup that is hashed",
                    name,
                    bytes.length,
                    shown(text),
                    LONGEST_VALUE));
        }
        return new Value(hashed ? sha256(bytes) : form, ShardKey.uid(form));
    }

    private static String lower(String text) {
        StringBuilder lower = new StringBuilder(text);
        for (int i = 0; i < lower.length(); i++) {
            char c = lower.charAt(i);
            if (c >= 'A' && c <= 'Z') {
                lower.setCharAt(i, (char) (c + 'a' - 'A'));
            }
        }
        return lower.toString();
    }

    /** The value in UTF-8; refuses half of a surrogate pair, which would be looked up as another character. */
    private byte[] utf8(String form) {
        try {
            var bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(form));
            byte[] copy = new byte[bytes.remaining()];
            bytes.get(copy);
            return copy;
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException(
                    "a value of lookup %s has half a character in it (a surrogate without the other)".formatted(name),
                    e);
        }
    }

    private static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /** The value as messages show it; a value that is stored as a hash is kept out of logs as well. */
    public String shown(String text) {
        if (hashed) {
            return "a hashed value";
        }
        String start = text.length() <= SHOWN ? text : text.substring(0, SHOWN) + "...";
        return "\"" + start.replaceAll("\\p{Cntrl}", "?") + "\"";
    }
}
