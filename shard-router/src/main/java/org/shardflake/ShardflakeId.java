/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.time.Instant;

/**
 * One id: when it was made, in which shard, and what sets it apart from others of that millisecond.
 *
 * <p>Immutable and free of I/O; every {@code long} is an id. The time needs the {@link IdLayout} of the installation
 * that made it, since the id itself only counts milliseconds since that installation's epoch. Code that handles ids
 * by the million reads the same fields from a plain {@code long} with {@link IdLayout#shard(long)} and its siblings.
 *
 * <p>As text an id is a decimal number, and in JSON a string, since it exceeds the 2<sup>53</sup> that JavaScript
 * counts to.
 *
 * @param value the 64 bits, as PostgreSQL keeps them in a {@code bigint}
 */
public record ShardflakeId(long value) implements Comparable<ShardflakeId> {

    private static final int QUOTED_LENGTH = 40;
    private static final long ROOM_FOR_ANY_DIGIT = Long.MAX_VALUE / 10 - 1;

    /** The id with these 64 bits. */
    public static ShardflakeId of(long value) {
        return new ShardflakeId(value);
    }

    /**
     * The id that a decimal number names.
     *
     * <p>Takes all of -2<sup>63</sup>..2<sup>64</sup>-1: a foreign id with its top bit set is read from either its
     * unsigned or its {@code bigint} form, to the same 64 bits.
     *
     * @throws NumberFormatException if the text is no such number, saying what is wrong with it
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
                throw notAnId(text, "character %d is not a digit".formatted(i + 1));
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

    /** The shard the id was made in: 0..8191. */
    public int shard() {
        return IdLayout.shard(value);
    }

    /** What tells ids of the same millisecond and shard apart: 0..1023. */
    public int sequence() {
        return IdLayout.sequence(value);
    }

    /** The milliseconds between the epoch of the id's installation and the making of the id. */
    public long elapsedMillis() {
        return IdLayout.elapsedMillis(value);
    }

    /** When the id was made, in an installation of this layout. */
    public Instant time(IdLayout layout) {
        return layout.time(value);
    }

    /**
     * Orders ids as PostgreSQL's {@code bigint} does, signed, so that sorting in Java and {@code ORDER BY id} agree.
     *
     * <p>Ids that Shardflake makes are positive, for which this is the order of their times. Among foreign ids those
     * with the top bit set come first, as they do in the database.
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

    private static NumberFormatException notAnId(CharSequence text, String reason) {
        return new NumberFormatException("%s is not an id: %s".formatted(quote(text), reason));
    }

    /** Bounded and free of control characters: the text may come from anywhere and go to a terminal. */
    private static String quote(CharSequence text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < Math.min(text.length(), QUOTED_LENGTH); i++) {
            char c = text.charAt(i);
            if (Character.isISOControl(c)) {
                quoted.append("\\u%04x".formatted((int) c));
            } else {
                quoted.append(c);
            }
        }
        return quoted.append(text.length() > QUOTED_LENGTH ? "...\"" : "\"").toString();
    }
}
