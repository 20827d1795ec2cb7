/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The table that an everyday INSERT, UPDATE or DELETE writes to, as the server has its names. */
public record WrittenTable(String schema, String name) {

    private static final String NAME = "(\"[^\"]{1,63}\"|[a-z_][a-z_0-9]{0,62})";
    private static final Pattern WRITE = Pattern.compile(
            "\\s*(?:INSERT\\s+INTO|UPDATE|DELETE\\s+FROM)\\s+(?:ONLY\\s+)?" + NAME + "\\s*\\.\\s*" + NAME
                    // The name ends there, and this is the only statement.
                    + "(?!\\s*\\.)(?:[\\s(*][^;]*)?",
            Pattern.CASE_INSENSITIVE);

    /** The table of a statement that begins with this and names a schema; null for any other text. */
    static @Nullable WrittenTable of(String sql) {
        Matcher write = WRITE.matcher(sql);
        return write.matches() ? new WrittenTable(name(write.group(1)), name(write.group(2))) : null;
    }

    private static String name(String identifier) {
        return identifier.startsWith("\"")
                ? identifier.substring(1, identifier.length() - 1)
                : identifier.toLowerCase(Locale.ROOT);
    }
}
