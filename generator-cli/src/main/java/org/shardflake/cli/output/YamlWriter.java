/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.util.Collection;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Writes maps, collections and plain values as YAML in block style.
 *
 * <p>Plain values look as in JSON, which YAML includes: strings are always quoted, so that none turns into a number, a
 * date or a boolean. Keys are ours and need no quotes.
 */
public final class YamlWriter {

    private YamlWriter() {}

    /** The YAML, each line ended. */
    public static String write(@Nullable Object value) {
        StringBuilder out = new StringBuilder();
        append(out, "", value);
        return out.toString();
    }

    private static void append(StringBuilder out, String indent, @Nullable Object value) {
        if (value instanceof Map<?, ?> map && !map.isEmpty()) {
            String separator = "";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(separator).append(entry.getKey()).append(':');
                out.append(isBlock(entry.getValue()) ? "\n" + indent + "  " : " ");
                append(out, indent + "  ", entry.getValue());
                separator = indent;
            }
        } else if (value instanceof Collection<?> items && !items.isEmpty()) {
            String separator = "";
            for (Object item : items) {
                append(out.append(separator).append("- "), indent + "  ", item);
                separator = indent;
            }
        } else {
            JsonWriter.append(out, value);
            out.append('\n');
        }
    }

    private static boolean isBlock(@Nullable Object value) {
        return (value instanceof Map<?, ?> map && !map.isEmpty())
                || (value instanceof Collection<?> items && !items.isEmpty());
    }
}
