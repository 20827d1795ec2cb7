/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes maps, collections and plain values as JSON on one line. A long id belongs in it as a string. */
public final class JsonWriter {

    private JsonWriter() {}

    public static String write(@Nullable Object value) {
        StringBuilder out = new StringBuilder();
        append(out, value);
        return out.toString();
    }

    static void append(StringBuilder out, @Nullable Object value) {
        if (value instanceof Map<?, ?> map) {
            out.append('{');
            for (Iterator<? extends Map.Entry<?, ?>> entries = map.entrySet().iterator(); entries.hasNext(); ) {
                Map.Entry<?, ?> entry = entries.next();
                appendString(out, String.valueOf(entry.getKey()));
                append(out.append(':'), entry.getValue());
                out.append(entries.hasNext() ? "," : "");
            }
            out.append('}');
        } else if (value instanceof Iterable<?> items) {
            out.append('[');
            for (Iterator<?> rest = items.iterator(); rest.hasNext(); ) {
                append(out, rest.next());
                out.append(rest.hasNext() ? "," : "");
            }
            out.append(']');
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            appendString(out, value.toString());
        }
    }

    private static void appendString(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"', '\\' -> out.append('\\').append(c);
                case '\n' -> out.append("\\n");
                case '\t' -> out.append("\\t");
                case '\r' -> out.append("\\r");
                default -> {
                    // DEL and the C1 controls are legal in JSON, but not in YAML, nor welcome on a terminal.
                    if (Character.isISOControl(c)) {
                        out.append("\\u%04x".formatted((int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }
}
