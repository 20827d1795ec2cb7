/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * An id taken apart.
 *
 * @param text the id as it was given
 * @param fields what is in it, in the order of its bits: each a {@link String}, {@link Integer}, {@link Long} or
 *     {@link Instant}; the time is called {@code time}
 * @param warnings what to know before relying on a field, empty as a rule
 */
public record ExplainedId(String text, Map<String, Object> fields, List<String> warnings) {

    /** Keeps the order of the fields. */
    public ExplainedId {
        fields = Collections.unmodifiableMap(new LinkedHashMap<>(fields));
        warnings = List.copyOf(warnings);
    }

    /** When the id was made, by the clock of whoever made it; nothing if it does not say. */
    public Optional<Instant> time() {
        return Optional.ofNullable((Instant) fields.get("time"));
    }
}
