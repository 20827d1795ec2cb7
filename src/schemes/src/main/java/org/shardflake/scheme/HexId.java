/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.util.HexFormat;

/** Reads ids that are written in hexadecimal digits. */
final class HexId {

    private static final int QUOTED_LENGTH = 40;

    private HexId() {}

    /**
     * Parses the bytes of an id.
     *
     * @throws MalformedIdException if the text has another length or other characters
     */
    static byte[] parse(String scheme, String text, int bytes) {
        if (text.length() != 2 * bytes) {
            throw malformed(scheme, text, "it has %s characters".formatted(text.length()), bytes);
        }
        for (int i = 0; i < text.length(); i++) {
            if (!HexFormat.isHexDigit(text.charAt(i))) {
                throw malformed(scheme, text, "character %s is not a hexadecimal digit".formatted(i + 1), bytes);
            }
        }
        return HexFormat.of().parseHex(text);
    }

    private static MalformedIdException malformed(String scheme, String text, String reason, int bytes) {
        return malformed(scheme, text, reason, "ids of %s are %s hexadecimal digits".formatted(scheme, 2 * bytes));
    }

    static MalformedIdException malformed(String scheme, String text, String reason, String expected) {
        return new MalformedIdException(
                scheme, "%s is not an id of %s: %s; %s".formatted(quote(text), scheme, reason, expected));
    }

    /** Quotes a text, shortened and without control characters, since it may come from anywhere and go to a terminal. */
    private static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        text.chars()
                .limit(QUOTED_LENGTH)
                .forEach(
                        c -> quoted.append(Character.isISOControl(c) ? "\\u%04x".formatted(c) : Character.toString(c)));
        return quoted.append(text.length() > QUOTED_LENGTH ? "...\"" : "\"").toString();
    }
}
