/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

/** Ids in the form used by Instagram's URLs: digits of 6 bits in the alphabet of base64url (RFC 4648, section 5), highest first. */
final class Shortcode {

    private static final String FORM = "a shortcode";
    private static final String DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    private static final int BITS = 6;
    private static final int MASK = (1 << BITS) - 1;
    private static final int MAX_LENGTH = 11;
    /** The largest first digit of a text with 11 digits, since the other ten hold 60 of the 64 bits. */
    private static final int MAX_FIRST = 15;

    private Shortcode() {}

    static String encode(long value) {
        char[] text = new char[MAX_LENGTH];
        int first = MAX_LENGTH;
        long rest = value;
        do {
            text[--first] = DIGITS.charAt((int) rest & MASK);
            rest >>>= BITS;
        } while (rest != 0);
        return new String(text, first, MAX_LENGTH - first);
    }

    static long decode(CharSequence text) {
        int length = text.length();
        if (length == 0 || length > MAX_LENGTH) {
            throw MalformedId.of(text, FORM, "it has %s characters instead of 1 to %s".formatted(length, MAX_LENGTH));
        }
        long value = 0;
        for (int i = 0; i < length; i++) {
            int digit = DIGITS.indexOf(text.charAt(i));
            if (digit < 0) {
                throw MalformedId.of(text, FORM, "character %s is not one of A-Z, a-z, 0-9, - and _".formatted(i + 1));
            }
            value = value << BITS | digit;
        }
        checkFirst(text);
        return value;
    }

    private static void checkFirst(CharSequence text) {
        int first = DIGITS.indexOf(text.charAt(0));
        if (text.length() == MAX_LENGTH && first > MAX_FIRST) {
            throw MalformedId.of(text, FORM, "it is out of range A..P__________");
        }
        if (first == 0 && text.length() > 1) {
            throw MalformedId.of(text, FORM, "it begins with A, a zero, which is left out");
        }
    }
}
