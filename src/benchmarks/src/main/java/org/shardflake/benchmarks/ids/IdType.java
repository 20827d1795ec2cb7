/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.lang.reflect.Array;
import java.math.BigInteger;
import java.util.HexFormat;
import java.util.UUID;

/** What holds the ids of a scheme in a column, and how its text becomes that. */
enum IdType {
    BIGINT("bigint", Long.class) {
        @Override
        Object value(String id) {
            return Long.valueOf(id);
        }
    },
    /** Eight bytes, written in 16 hexadecimal digits. */
    HEX_BIGINT("bigint", Long.class) {
        @Override
        Object value(String id) {
            return HexFormat.fromHexDigitsToLong(id);
        }
    },
    UUID("uuid", java.util.UUID.class) {
        @Override
        Object value(String id) {
            return java.util.UUID.fromString(id);
        }
    },
    /** Sixteen bytes that are no UUID, but the type takes any; written in base 62. */
    BASE62_UUID("uuid", java.util.UUID.class) {
        @Override
        Object value(String id) {
            BigInteger value = BigInteger.ZERO;
            for (int from = 0; from < id.length(); from += DIGITS_AT_ONCE) {
                int to = Math.min(id.length(), from + DIGITS_AT_ONCE);
                long part = 0;
                long power = 1;
                for (int i = from; i < to; i++) {
                    part = part * 62 + BASE62.indexOf(id.charAt(i));
                    power *= 62;
                }
                value = value.multiply(BigInteger.valueOf(power)).add(BigInteger.valueOf(part));
            }
            return new UUID(value.shiftRight(64).longValue(), value.longValue());
        }
    },
    /** Twelve bytes have no type of their own. */
    HEX_BYTEA("bytea", byte[].class) {
        @Override
        Object value(String id) {
            return HexFormat.of().parseHex(id);
        }
    };

    private static final String BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    /** 62 to the power of 10 fits a long. */
    private static final int DIGITS_AT_ONCE = 10;

    private final String column;
    private final Class<?> value;

    IdType(String column, Class<?> value) {
        this.column = column;
        this.value = value;
    }

    /** The type of the column. */
    String column() {
        return column;
    }

    /** The type of the column as {@link java.sql.Connection#createArrayOf} calls it. */
    String element() {
        return column.equals("bigint") ? "int8" : column;
    }

    /** Room for so many ids; the driver takes no mixed arrays. */
    Object[] array(int length) {
        return (Object[]) Array.newInstance(value, length);
    }

    /** An id as the driver takes it. */
    abstract Object value(String id);
}
