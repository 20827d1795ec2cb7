/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Optional;

/**
 * MongoDB's ObjectId: seconds, a random number for the process, and a counter that starts at a random value.
 *
 * <p>The counter increases with every id whatever the clock does: an id repeats only after 16,777,216 others in the
 * same second, or in one that the clock has gone back to. Older descriptions have machine and process instead of the
 * random number. The time is unsigned and lasts until 2106. Source: MongoDB's manual, <a
 * href="https://www.mongodb.com/docs/manual/reference/bson-types/#objectid">mongodb.com</a>.
 */
final class ObjectIdScheme implements Scheme {

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "objectid",
            "MongoDB's ObjectId",
            "32 seconds since 1970 | 40 random, one value a process | 24 counter",
            "https://www.mongodb.com/docs/manual/reference/bson-types/#objectid",
            96,
            true,
            false,
            false,
            false,
            false,
            ClockStep.GOES_BACK);

    /** The date of MongoDB's first release. */
    private static final Instant FIRST = Instant.parse("2009-02-11T00:00:00Z");

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    public ExplainedId decode(String id) {
        ByteBuffer bytes = ByteBuffer.wrap(HexId.parse(name(), id, 12));
        long low = bytes.getLong(4);
        return new Explanation(id)
                .time(Integer.toUnsignedLong(bytes.getInt(0)) * 1000)
                .field("process", HexFormat.of().toHexDigits(low >>> 24, 10))
                .field("counter", (int) (low & 0xff_ffff))
                .done();
    }

    @Override
    public Optional<Guess> guess(String id, Instant now) {
        try {
            return Optional.of(
                    Plausibility.byTime(this, decode(id), FIRST, now, 95, ", and it has 24 hexadecimal digits"));
        } catch (MalformedIdException e) {
            return Optional.empty();
        }
    }

    @Override
    public IdGenerator generator(GeneratorSettings settings) {
        return new Generator(settings);
    }

    private static final class Generator implements IdGenerator {

        private final GeneratorSettings settings;
        private final long process;
        private int counter;

        Generator(GeneratorSettings settings) {
            this.settings = settings;
            this.process = settings.random().nextLong() >>> 24;
            this.counter = settings.random().nextInt() & 0xff_ffff;
        }

        @Override
        public synchronized String next() {
            long seconds = settings.clock().millis() / 1000;
            long low = process << 24 | counter;
            counter = counter + 1 & 0xff_ffff;
            return HexFormat.of().toHexDigits(seconds, 8) + HexFormat.of().toHexDigits(low);
        }
    }
}
