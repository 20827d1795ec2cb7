/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jackson;

import java.math.BigInteger;

/** Decides which JSON numbers are certainly ids, for the modules of both Jackson versions. */
final class IdNumbers {

    static final String ROUNDED = "beyond 2^53 a number may have been rounded: send the id as a string";
    static final String NOT_WHOLE = "an id is a whole number, in a string";

    private static final BigInteger MAX_EXACT = BigInteger.ONE.shiftLeft(53).subtract(BigInteger.ONE);

    private IdNumbers() {}

    /** Whether all readers agree on the value of a number. */
    static boolean isExact(BigInteger number) {
        return number.abs().compareTo(MAX_EXACT) <= 0;
    }
}
