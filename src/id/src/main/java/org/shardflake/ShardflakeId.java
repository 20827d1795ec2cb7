/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.time.Instant;

/**
 * An id: the time and the shard of its creation, and a sequence number within that millisecond.
 *
 * <p>Immutable and free of I/O; every {@code long} is an id. The time needs the {@link IdLayout} of the installation
 * that made it, since the id itself only counts milliseconds since that installation's epoch. Code that handles ids
 * by the million reads the same fields from a plain {@code long} with {@link IdLayout#shard(long)} and its siblings.
 *
 * <p>As text an id is a decimal number, and in JSON a string, since it exceeds the 2<sup>53</sup> that JavaScript
 * counts to. Shorter forms are {@linkplain #toBase32() base32} and the {@linkplain #toShortcode() shortcode}; for ids
 * shown to strangers, use {@link PublicIds}.
 *
 * @param value the 64 bits, as PostgreSQL stores them in a {@code bigint}
 */
public record ShardflakeId(long value) implements Comparable<ShardflakeId> {

    private static final int MAX_FIRST_IN_BASE32 = 15;
    private static final long ROOM_FOR_ANY_DIGIT = Long.MAX_VALUE / 10 - 1;

    /** The id with these 64 bits. */
    public static ShardflakeId of(long value) {
        return new ShardflakeId(value);
    }

    /**
     * Parses an id from a decimal number.
     *
     * <p>Accepts all of -2<sup>63</sup>..2<sup>64</sup>-1: a foreign id with its top bit set has the same 64 bits in
     * its unsigned and its {@code bigint} form.
     *
     * @throws NumberFormatException if the text is not such a number, saying what is wrong with it
     */
    public static ShardflakeId parse(CharSequence text) {
        int length = text.length();
        boolean negative = length > 0 && text.charAt(0) == '-';
        int firstDigit = negative ? 1 : 0;
        if (length == firstDigit) {
            throw notAnId(text, length == 0 ? "it is empty" : "it has no digits");
        }
        long value = 0;
        boolean fits = true;
        for (int i = firstDigit; i < length; i++) {
            int digit = text.charAt(i) - '0';
            if (digit < 0 || digit > 9) {
                throw notAnId(text, "character %s is not a digit".formatted(i + 1));
            }
            if (value < 0 || value > ROOM_FOR_ANY_DIGIT) {
                fits &= fitsOneMoreDigit(value, digit);
            }
            value = value * 10 + digit;
        }
        if (!fits || (negative && value < 0 && value != Long.MIN_VALUE)) {
            throw notAnId(text, "it is out of range -9223372036854775808..18446744073709551615");
        }
        return new ShardflakeId(negative ? -value : value);
    }

    private static boolean fitsOneMoreDigit(long value, int digit) {
        int order = Long.compareUnsigned(value, Long.divideUnsigned(-1, 10));
        return order < 0 || (order == 0 && digit <= Long.remainderUnsigned(-1, 10));
    }

    /**
     * Parses an id from 13 digits of Crockford's base32, the reverse of {@link #toBase32}.
     *
     * <p>Accepts lower case too, and reads I and L as 1, and O as 0. Accepts neither hyphens nor a check symbol.
     *
     * @throws NumberFormatException if the text is not such a number, saying what is wrong with it
     */
    public static ShardflakeId parseBase32(CharSequence text) {
        return new ShardflakeId(Base32.decode(text, "an id in base32", MAX_FIRST_IN_BASE32));
    }

    /**
     * Parses an id from a shortcode, the reverse of {@link #toShortcode}.
     *
     * @throws NumberFormatException if the text is not a shortcode of an id, or has leading zeros, saying what is wrong
     *     with it
     */
    public static ShardflakeId parseShortcode(CharSequence text) {
        return new ShardflakeId(Shortcode.decode(text));
    }

    /** The shard in which the id was created: 0..8191. */
    public int shard() {
        return IdLayout.shard(value);
    }

    /** The sequence number that distinguishes ids of the same millisecond and shard: 0..1023. */
    public int sequence() {
        return IdLayout.sequence(value);
    }

    /** The milliseconds from the epoch of the id's installation to the creation of the id. */
    public long elapsedMillis() {
        return IdLayout.elapsedMillis(value);
    }

    /** The time when the id was created, in an installation with this layout. */
    public Instant time(IdLayout layout) {
        return layout.time(value);
    }

    /**
     * Orders ids as PostgreSQL's {@code bigint} does, signed, so that sorting in Java and {@code ORDER BY id} agree.
     *
     * <p>Shardflake's ids are positive, so this is the order of their times. Among foreign ids those with the top bit
     * set come first, as they do in the database.
     */
    @Override
    public int compareTo(ShardflakeId other) {
        return Long.compare(value, other.value);
    }

    /** The id in decimal, as PostgreSQL shows it. */
    @Override
    public String toString() {
        return Long.toString(value);
    }

    /**
     * The id in Crockford's base32: always 13 characters, in upper case.
     *
     * <p>As text, ids in this form sort like their unsigned numbers, which for Shardflake's own ids is the order of
     * {@link #compareTo}. The form avoids I, L, O and U, which can be mistaken for other characters.
     *
     * @see <a href="https://www.crockford.com/base32.html">Douglas Crockford, Base 32</a>
     */
    public String toBase32() {
        return Base32.encode(value);
    }

    /**
     * The id in the form used by Instagram's URLs: digits of 6 bits, the highest first, in the alphabet of base64url, without leading zeros. 1
     * to 11 characters, case-sensitive.
     */
    public String toShortcode() {
        return Shortcode.encode(value);
    }

    private static NumberFormatException notAnId(CharSequence text, String reason) {
        return MalformedId.of(text, "an id", reason);
    }
}
