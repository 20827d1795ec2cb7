/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

/**
 * Douglas Crockford's base32, at a fixed width: 13 digits of 5 bits, the first of which has 4.
 *
 * <p>It has no check symbol, since the width is known, and no hyphens, which would allow ids of any length.
 */
final class Base32 {

    static final int LENGTH = 13;

    private static final String DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    private static final int BITS = 5;
    private static final int MASK = (1 << BITS) - 1;

    /** The value of each character that stands for a digit; -1 for all others. */
    private static final byte[] VALUES = values();

    private Base32() {}

    private static byte[] values() {
        byte[] values = new byte['z' + 1];
        for (char c = 0; c < values.length; c++) {
            char digit = switch (Character.toUpperCase(c)) {
                case 'I', 'L' -> '1';
                case 'O' -> '0';
                default -> Character.toUpperCase(c);
            };
            values[c] = (byte) DIGITS.indexOf(digit);
        }
        return values;
    }

    static String encode(long value) {
        char[] text = new char[LENGTH];
        long rest = value;
        for (int i = LENGTH - 1; i >= 0; i--) {
            text[i] = DIGITS.charAt((int) rest & MASK);
            rest >>>= BITS;
        }
        return new String(text);
    }

    /** Parses 64 bits, or 63 if the largest first digit is 7. */
    static long decode(CharSequence text, String form, int maxFirst) {
        if (text.length() != LENGTH) {
            throw MalformedId.of(text, form, "it has %s characters instead of %s".formatted(text.length(), LENGTH));
        }
        long value = 0;
        for (int i = 0; i < LENGTH; i++) {
            char c = text.charAt(i);
            int digit = c < VALUES.length ? VALUES[c] : -1;
            if (digit < 0) {
                throw MalformedId.of(text, form, "character %s is not one of 0-9 and A-Z without U".formatted(i + 1));
            }
            if (i == 0 && digit > maxFirst) {
                throw MalformedId.of(
                        text,
                        form,
                        "it is out of range 0000000000000..%sZZZZZZZZZZZZ".formatted(DIGITS.charAt(maxFirst)));
            }
            value = value << BITS | digit;
        }
        return value;
    }
}
