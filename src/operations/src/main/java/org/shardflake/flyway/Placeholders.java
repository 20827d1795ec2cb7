/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.flyway;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Flyway's placeholders in a script: {@code ${name}}, in code, strings and comments alike, regardless of case.
 *
 * @param text the script with the placeholders' values in it
 * @param refusal why they have none, as a predicate
 */
record Placeholders(String text, Optional<String> refusal) {

    /** The prefix of Flyway's built-in placeholders. */
    private static final String OWN = "flyway:";

    private static final String OPENING = "${";

    /**
     * Replaces placeholders as Flyway's reader does: a dollar sign consumes the next character, so that the second of two opens no placeholder.
     *
     * @param schema what stands for the schema of the tables
     */
    static Placeholders fill(String script, Map<String, String> values, String schema, String fileName) {
        Map<String, String> known = new HashMap<>();
        values.forEach((name, value) -> known.put(name.toLowerCase(Locale.ROOT), value));
        known.keySet().removeIf(name -> name.startsWith(OWN));
        known.put("flyway:defaultschema", schema);
        known.put("flyway:filename", fileName);
        StringBuilder text = new StringBuilder();
        int at = 0;
        while (at < script.length()) {
            if (script.charAt(at) != '$') {
                text.append(script.charAt(at++));
            } else if (!script.startsWith(OPENING, at)) {
                int end = Math.min(at + 2, script.length());
                text.append(script, at, end);
                at = end;
            } else {
                int end = script.indexOf('}', at);
                if (end < 0) {
                    return new Placeholders(script, Optional.of("has a placeholder that is not closed: ${"));
                }
                String name = script.substring(at + OPENING.length(), end);
                @Nullable String value = known.get(name.toLowerCase(Locale.ROOT));
                if (value == null) {
                    return new Placeholders(script, Optional.of(missing(name)));
                }
                text.append(value);
                at = end + 1;
            }
        }
        return new Placeholders(text.toString(), Optional.empty());
    }

    private static String missing(String name) {
        return name.toLowerCase(Locale.ROOT).startsWith(OWN)
                ? "has placeholder ${%s}, whose value would depend on who deploys, where and when, and not be the same for every shard: use one of your own"
                        .formatted(name)
                : "has placeholder ${%s}, for which no parameter is given".formatted(name);
    }
}
