/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.jspecify.annotations.Nullable;

/** Writes maps, collections and plain values as JSON on one line. Pass long ids as strings. */
public final class JsonWriter {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private JsonWriter() {}

    public static String write(@Nullable Object value) {
        try {
            return Visible.inJson(MAPPER.writeValueAsString(value));
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("not a map, collection or plain value: " + value, e);
        }
    }
}
