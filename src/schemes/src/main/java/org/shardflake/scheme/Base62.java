/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.function.IntFunction;

/** Base 62, with digits in ASCII order, so that texts of the same length sort like the numbers. */
final class Base62 {

    private static final String DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    private static final BigInteger BASE = BigInteger.valueOf(DIGITS.length());

    private Base62() {}

    /** The number that a text represents, or the result of {@code otherwise} for the position of its first character that is not a digit. */
    static BigInteger parse(String text, IntFunction<BigInteger> otherwise) {
        BigInteger value = BigInteger.ZERO;
        for (int i = 0; i < text.length(); i++) {
            int digit = DIGITS.indexOf(text.charAt(i));
            if (digit < 0) {
                return otherwise.apply(i);
            }
            value = value.multiply(BASE).add(BigInteger.valueOf(digit));
        }
        return value;
    }

    /** The text of an unsigned number of 128 bits. */
    static String format(long high, long low) {
        BigInteger rest = new BigInteger(
                1, ByteBuffer.allocate(16).putLong(high).putLong(low).array());
        StringBuilder text = new StringBuilder();
        do {
            BigInteger[] parts = rest.divideAndRemainder(BASE);
            text.append(DIGITS.charAt(parts[1].intValue()));
            rest = parts[0];
        } while (rest.signum() > 0);
        return text.reverse().toString();
    }
}
