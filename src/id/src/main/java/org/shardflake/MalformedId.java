/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

/** Describes what is wrong with a text that should be an id, in any form. */
final class MalformedId {

    private static final int QUOTED_LENGTH = 40;

    private MalformedId() {}

    static NumberFormatException of(CharSequence text, String form, String reason) {
        return new NumberFormatException("%s is not %s: %s".formatted(quote(text), form, reason));
    }

    /** Quotes a text, shortened and without control characters, since it may come from anywhere and go to a terminal. */
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
