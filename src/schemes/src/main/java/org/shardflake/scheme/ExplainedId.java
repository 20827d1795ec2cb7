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
 * An id decoded into its fields.
 *
 * @param text the id as given
 * @param fields its fields, in the order of its bits: each a {@link String}, {@link Integer}, {@link Long} or
 *     {@link Instant}; the time is called {@code time}
 * @param warnings cautions about relying on a field, usually empty
 */
public record ExplainedId(String text, Map<String, Object> fields, List<String> warnings) {

    /** Copies the fields in their order. */
    public ExplainedId {
        fields = Collections.unmodifiableMap(new LinkedHashMap<>(fields));
        warnings = List.copyOf(warnings);
    }

    /** The time when the id was created, by its generator's clock; empty if the id does not contain it. */
    public Optional<Instant> time() {
        return Optional.ofNullable((Instant) fields.get("time"));
    }
}
