/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;

/**
 * Boundary's Flake: 128 bits, with Unix milliseconds, a hardware address and a sequence.
 *
 * <p>It refuses if the clock is behind the last id. The sequence is incremented without checking its 16 bits: after
 * 65,536 ids in a millisecond it wraps, and ids repeat. Flake also keeps a time on disk and does not start if the clock
 * is before it or far after; that needs its own disk and is left out here. As text an id is a number of base 62, with
 * the digits 0-9, A-Z and a-z, or 32 hexadecimal digits. Source: Boundary, <a
 * href="https://github.com/boundary/flake">github.com</a>.
 */
final class FlakeScheme implements Scheme {

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "flake",
            "Boundary's Flake",
            "64 milliseconds since 1970 | 48 worker, a hardware address | 16 sequence",
            "https://github.com/boundary/flake",
            128,
            true,
            false,
            true,
            false,
            false,
            ClockStep.REFUSES);

    /** The year of the scheme's publication. */
    private static final Instant FIRST = Instant.parse("2012-01-01T00:00:00Z");

    private static final long MAX_WORKER = (1L << 48) - 1;
    private static final String EXPECTED = "ids of flake are 32 hexadecimal digits, or up to 22 of 0-9, A-Z and a-z";
    /** The end of the year 9999: larger values do not count as times, and may not fit in an Instant. */
    private static final long MAX_TIME = 253_402_300_799_999L;

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    public ExplainedId decode(String id) {
        byte[] bytes = id.length() == 32 ? HexId.parse(name(), id, 16) : ofBase62(id);
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        long time = buffer.getLong(0);
        if (time < 0 || time > MAX_TIME) {
            throw HexId.malformed(name(), id, "its time is after the year 9999", EXPECTED);
        }
        long low = buffer.getLong(8);
        return new Explanation(id)
                .time(time)
                .field("worker", HexFormat.ofDelimiter(":").formatHex(bytes, 8, 14))
                .field("sequence", (int) low & 0xffff)
                .done();
    }

    private byte[] ofBase62(String id) {
        if (id.isEmpty() || id.length() > 22) {
            throw HexId.malformed(name(), id, "it has %s characters".formatted(id.length()), EXPECTED);
        }
        BigInteger value = Base62.parse(id, place -> {
            throw HexId.malformed(
                    name(), id, "character %s is neither letter nor digit".formatted(place + 1), EXPECTED);
        });
        if (value.bitLength() > 128) {
            throw HexId.malformed(name(), id, "it has more than 128 bits", EXPECTED);
        }
        byte[] bytes = new byte[16];
        byte[] used = value.toByteArray();
        int skipped = Math.max(0, used.length - 16); // the sign
        System.arraycopy(used, skipped, bytes, 16 - used.length + skipped, used.length - skipped);
        return bytes;
    }

    /** Judges an id; a number of 18 decimal digits is valid base 62 as well, but hardly a Flake. */
    @Override
    public Optional<Guess> guess(String id, Instant now) {
        if (id.chars().allMatch(Character::isDigit)) {
            return Optional.empty();
        }
        try {
            return Optional.of(Plausibility.byTime(this, decode(id), FIRST, now, id.length() == 32 ? 80 : 60, ""));
        } catch (MalformedIdException e) {
            return Optional.empty();
        }
    }

    /** Creates a generator whose worker, by default, is the first hardware address of this machine. */
    @Override
    public IdGenerator generator(GeneratorSettings settings) {
        long worker = settings.worker().orElseGet(() -> worker(JavaSnowflakeScheme.hardwareAddresses()));
        return new Generator(name(), Worker.checkRange(worker, 0, MAX_WORKER), settings.clock());
    }

    static long worker(List<byte[]> addresses) {
        return addresses.stream()
                .filter(address -> address.length == 6)
                .findFirst()
                .map(address -> Long.parseLong(HexFormat.of().formatHex(address), 16))
                .orElseThrow(() -> new IllegalArgumentException(
                        "scheme flake needs a worker 0..%s: no network interface has a hardware address"
                                .formatted(MAX_WORKER)));
    }

    private static final class Generator implements IdGenerator {

        private final String scheme;
        private final long worker;
        private final InstantSource clock;
        private long last;
        private int sequence;

        Generator(String scheme, long worker, InstantSource clock) {
            this.scheme = scheme;
            this.worker = worker;
            this.clock = clock;
            this.last = clock.millis();
        }

        @Override
        public synchronized String next() {
            long now = clock.millis();
            if (now < last) {
                throw new ClockWentBackException(scheme, last - now);
            }
            sequence = now == last ? sequence + 1 : 0;
            last = now;
            return Base62.format(now, worker << 16 | (sequence & 0xffff));
        }
    }
}
