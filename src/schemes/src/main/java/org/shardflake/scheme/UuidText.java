/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.util.HexFormat;
import java.util.UUID;

/** Reads UUIDs, with or without hyphens. */
final class UuidText {

    private UuidText() {}

    /**
     * Reads a UUID from a text.
     *
     * @throws MalformedIdException if it is not a UUID, or not of this version and RFC 9562's variant
     */
    static UUID parse(String scheme, String text, int version) {
        String expected = "ids of %s are UUIDs of version %s".formatted(scheme, version);
        UUID uuid = of(scheme, text, expected);
        if (uuid.variant() != 2) {
            throw HexId.malformed(scheme, text, "it is not of the variant of RFC 9562", expected);
        }
        if (uuid.version() != version) {
            throw HexId.malformed(scheme, text, "it is of version %s".formatted(uuid.version()), expected);
        }
        return uuid;
    }

    private static UUID of(String scheme, String text, String expected) {
        String digits = text;
        if (text.length() == 36) {
            // UUID.fromString accepts groups of any length.
            for (int place : new int[] {8, 13, 18, 23}) {
                if (text.charAt(place) != '-') {
                    throw HexId.malformed(scheme, text, "character %s is not a hyphen".formatted(place + 1), expected);
                }
            }
            digits = text.substring(0, 8)
                    + text.substring(9, 13)
                    + text.substring(14, 18)
                    + text.substring(19, 23)
                    + text.substring(24);
        } else if (text.length() != 32) {
            throw HexId.malformed(scheme, text, "it has %s characters".formatted(text.length()), expected);
        }
        if (!digits.chars().allMatch(HexFormat::isHexDigit)) {
            throw HexId.malformed(scheme, text, "it has other characters than hexadecimal digits", expected);
        }
        return new UUID(HexFormat.fromHexDigitsToLong(digits, 0, 16), HexFormat.fromHexDigitsToLong(digits, 16, 32));
    }

    /** The UUID with these bits, and the four bits of the version and two of the variant set. */
    static UUID of(int version, long high, long low) {
        return new UUID((high & ~0xf000L) | (long) version << 12, (low & ~(0b11L << 62)) | 0b10L << 62);
    }
}
