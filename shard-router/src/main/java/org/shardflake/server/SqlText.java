/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HexFormat;
import org.shardflake.ShardKey;

/**
 * Names and values as SQL text, quoted.
 *
 * <p>The only place in Java that quotes for SQL. A body, of a function or a {@code DO} block, with a name in it is a {@link #literal} or a
 * {@link #body}: a name may contain any dollar quote.
 */
public final class SqlText {

    /** The length to which PostgreSQL truncates names, with only a notice. */
    private static final int NAME_BYTES = 63;

    private SqlText() {}

    /** A name in double quotes. */
    public static String name(String name) {
        return '"' + name.replace("\"", "\"\"") + '"';
    }

    /** A value in single quotes, valid with either setting of {@code standard_conforming_strings}. */
    public static String literal(String value) {
        String doubled = "'" + value.replace("'", "''") + "'";
        // The blank keeps the E apart from a word before it.
        return value.contains("\\") ? " E" + doubled.replace("\\", "\\\\") : doubled;
    }

    /**
     * The body of a function or a {@code DO} block, in a dollar quote that the body does not contain: like {@link #literal}, but easier to
     * read.
     */
    public static String body(String text) {
        String tag = "$$";
        // Nor may the end of the body make up the tag together with its beginning.
        for (int i = 1; (text + tag).indexOf(tag) < text.length(); i++) {
            tag = "$shardflake%s$".formatted(i);
        }
        return tag + text + tag;
    }

    /** A value in the format that {@code COPY ... FROM STDIN} reads. */
    public static String copied(String value) {
        return value.replace("\\", "\\\\")
                .replace("\n", "\\n")
                .replace("\r", "\\r")
                .replace("\t", "\\t");
    }

    /** A comment in a single line, whatever the text contains, without characters that control a terminal. */
    public static String comment(String text) {
        return "-- " + text.replaceAll("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]", "?") + "\n";
    }

    /**
     * A name for an object, composed of other names and shortened to PostgreSQL's limit. One that is too long for PostgreSQL is cut between
     * characters, and has a digest of the whole in place of the rest, so that different names stay different.
     */
    public static String shortened(String name) {
        if (name.getBytes(UTF_8).length <= NAME_BYTES) {
            return name;
        }
        String digest = digest(name);
        return start(name, NAME_BYTES - 1 - digest.length()) + "_" + digest;
    }

    /** The longest start of a name that fits into this many bytes. */
    public static String start(String name, int bytes) {
        int end = 0;
        int size = 0;
        while (end < name.length()) {
            int next = name.offsetByCodePoints(end, 1);
            size += name.substring(end, next).getBytes(UTF_8).length;
            if (size > bytes) {
                break;
            }
            end = next;
        }
        return name.substring(0, end);
    }

    /** A digest of sixteen characters. */
    public static String digest(String text) {
        return HexFormat.of().toHexDigits(ShardKey.hash(text));
    }
}
