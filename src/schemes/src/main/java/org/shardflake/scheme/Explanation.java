/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Collects the fields of an id. */
final class Explanation {

    private final String text;
    private final Map<String, Object> fields = new LinkedHashMap<>();
    private final List<String> warnings = new ArrayList<>();

    Explanation(String text) {
        this.text = text;
    }

    Explanation time(long epochMillis) {
        fields.put("time", Instant.ofEpochMilli(epochMillis));
        return this;
    }

    Explanation field(String name, Object value) {
        fields.put(name, value);
        return this;
    }

    Explanation warnIf(boolean condition, String warning) {
        if (condition) {
            warnings.add(warning);
        }
        return this;
    }

    ExplainedId done() {
        return new ExplainedId(text, fields, warnings);
    }
}
