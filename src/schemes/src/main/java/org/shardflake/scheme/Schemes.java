/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** All schemes. */
public final class Schemes {

    private static final List<Scheme> ALL = List.of(
            ShardflakeScheme.PUBLISHED,
            new SerialScheme(),
            new TicketScheme(),
            new UuidV4Scheme(),
            new UuidV7Scheme(),
            new ObjectIdScheme(),
            SnowflakeScheme.PUBLISHED,
            JavaSnowflakeScheme.PUBLISHED,
            new FlakeScheme(),
            SimpleflakeScheme.PUBLISHED,
            InstagramScheme.PUBLISHED,
            new UniqueIdScheme(),
            new TraceIdScheme(),
            new DecimalIdScheme());

    private Schemes() {}

    /** Every scheme, Shardflake first. */
    public static List<Scheme> all() {
        return ALL;
    }

    /** The names of all schemes. */
    public static List<String> names() {
        return ALL.stream().map(Scheme::name).toList();
    }

    /**
     * The scheme with this name.
     *
     * @throws IllegalArgumentException if there is none, naming those that exist
     */
    public static Scheme named(String name) {
        return ALL.stream()
                .filter(scheme -> scheme.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("'%s' is not a scheme; there are %s"
                        .formatted(name, names().stream().collect(Collectors.joining(", ")))));
    }

    /**
     * The schemes that an id could be of, most plausible first; empty if there are none.
     *
     * @param now when the id was seen, so it was made before
     */
    public static List<Guess> rank(String id, Instant now) {
        return rank(ALL, id, now);
    }

    /** The given schemes that an id could be of, most plausible first. */
    public static List<Guess> rank(List<Scheme> schemes, String id, Instant now) {
        return schemes.stream()
                .map(scheme -> scheme.guess(id, now))
                .flatMap(Optional::stream)
                .sorted(Comparator.comparingInt(Guess::plausibility).reversed())
                .toList();
    }
}
