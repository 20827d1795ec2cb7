/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.time.Instant;
import java.util.HexFormat;
import java.util.Optional;
import java.util.UUID;

/**
 * UUID version 7: Unix milliseconds, then 74 bits that the generator may use freely.
 *
 * <p>The generator uses them as PostgreSQL 18's {@code uuidv7()} does: the first 12 are a fraction of the millisecond,
 * the rest random. It never uses the same moment twice and advances by at least 245 ns, even if the clock stands still
 * or steps back; in PostgreSQL each session counts for itself. Elsewhere these 12 bits may be random. Sources: RFC
 * 9562, sections 5.7 and 6.2 (method 3), <a
 * href="https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-7">rfc-editor.org</a>; PostgreSQL 18, <a
 * href="https://www.postgresql.org/docs/18/functions-uuid.html">postgresql.org</a>.
 */
final class UuidV7Scheme implements Scheme {

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "uuidv7",
            "UUID version 7",
            "48 milliseconds since 1970 | 4 version | 12 fraction of the millisecond, or random | 2 variant | 62 random",
            "https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-7",
            128,
            true,
            false,
            false,
            false,
            false,
            ClockStep.COUNTS_ON);

    /** The date of the first draft of RFC 9562 with this version. */
    private static final Instant FIRST = Instant.parse("2021-01-01T00:00:00Z");

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    public ExplainedId decode(String id) {
        UUID uuid = UuidText.parse(name(), id, 7);
        long high = uuid.getMostSignificantBits();
        return new Explanation(id)
                .time(high >>> 16)
                .field("fraction", (int) (high & 0xfff))
                .field("random", HexFormat.of().toHexDigits(uuid.getLeastSignificantBits() & (-1L >>> 2)))
                .done();
    }

    @Override
    public Optional<Guess> guess(String id, Instant now) {
        try {
            ExplainedId explained = decode(id);
            return Optional.of(Plausibility.byTime(this, explained, FIRST, now, 95, ", and it is a UUID of version 7"));
        } catch (MalformedIdException e) {
            return Optional.empty();
        }
    }

    @Override
    public IdGenerator generator(GeneratorSettings settings) {
        return new Generator(settings);
    }

    private static final class Generator implements IdGenerator {

        private static final long NANOS_PER_MILLI = 1_000_000;
        /** The step of the fraction: one 4096th of a millisecond, rounded up so that the fraction always increases. */
        private static final long STEP = NANOS_PER_MILLI / 4096 + 1;

        private final GeneratorSettings settings;
        private long last;

        Generator(GeneratorSettings settings) {
            this.settings = settings;
        }

        @Override
        public synchronized String next() {
            Instant now = settings.clock().instant();
            last = Math.max(last + STEP, now.getEpochSecond() * 1_000_000_000 + now.getNano());
            long fraction = (last % NANOS_PER_MILLI) * 4096 / NANOS_PER_MILLI;
            return UuidText.of(
                            7,
                            (last / NANOS_PER_MILLI) << 16 | fraction,
                            settings.random().nextLong())
                    .toString();
        }
    }
}
