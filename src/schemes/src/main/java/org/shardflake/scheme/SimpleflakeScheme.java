/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.time.Instant;
import java.util.Optional;

/**
 * Simpleflake: milliseconds and random bits, with no node and no memory.
 *
 * <p>Only chance keeps two ids of one millisecond apart: the authors advise fewer than 100 ids a second. Descriptions
 * say 22 random bits; its code has 23. Its epoch is called the year 2000 but is 2000-01-01T05:00:00Z, midnight in New
 * York. All 64 bits are used, so that in a {@code bigint} ids are negative from 2034-11-04 on. A clock that goes back
 * is not noticed. Source: Sawdust Software, <a href="https://github.com/SawdustSoftware/simpleflake">github.com</a>.
 */
final class SimpleflakeScheme extends NumericScheme {

    static final SimpleflakeScheme PUBLISHED = new SimpleflakeScheme(946_702_800_000L);

    private static final int RANDOM_BITS = 23;
    private static final long MAX_ELAPSED = (1L << 41) - 1;

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "simpleflake",
            "Simpleflake",
            "41 milliseconds since 2000-01-01T05:00:00Z | 23 random",
            "https://github.com/SawdustSoftware/simpleflake",
            64,
            true,
            false,
            false,
            false,
            false,
            ClockStep.GOES_BACK);

    /** The year of the scheme's publication. */
    private static final Instant FIRST = Instant.parse("2013-01-01T00:00:00Z");

    private final long epochMillis;

    private SimpleflakeScheme(long epochMillis) {
        this.epochMillis = epochMillis;
    }

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    public Scheme withEpoch(Instant epoch) {
        return new SimpleflakeScheme(epoch.toEpochMilli());
    }

    @Override
    ExplainedId explain(String text, long id) {
        return new Explanation(text)
                .time(epochMillis + (id >>> RANDOM_BITS))
                .field("random", (int) (id & (1 << RANDOM_BITS) - 1))
                .warnIf(id < 0, "the top bit is set: in a bigint it is negative and sorts before older ids")
                .done();
    }

    @Override
    Optional<Guess> judge(ExplainedId explained, long id, Instant now) {
        Instant from = Instant.ofEpochMilli(epochMillis).plusSeconds(86_400);
        return Optional.of(Plausibility.byTime(this, explained, from.isAfter(FIRST) ? from : FIRST, now, 40, ""));
    }

    @Override
    public LongIdGenerator generator(GeneratorSettings settings) {
        return () -> encode(settings.clock().millis(), settings.random().nextInt() >>> (32 - RANDOM_BITS));
    }

    long encode(long timeMillis, int random) {
        long elapsed = timeMillis - epochMillis;
        if (elapsed < 0 || elapsed > MAX_ELAPSED) {
            throw new IllegalArgumentException("time %s is out of range %s..%s"
                    .formatted(
                            Instant.ofEpochMilli(timeMillis),
                            Instant.ofEpochMilli(epochMillis),
                            Instant.ofEpochMilli(epochMillis + MAX_ELAPSED)));
        }
        return elapsed << RANDOM_BITS | random;
    }
}
