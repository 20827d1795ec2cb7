/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/**
 * The eight bytes of Lable's {@code uniqueid}: milliseconds, a sequence, a flag, a generator, and a cluster.
 *
 * <p>The flag says whether the bits of the time are reversed ({@link UniqueIdMode#SPREAD}) or not. The generator had 8
 * bits; later releases put 3 more in front of the flag, which were zero before. Generators are claimed for some
 * minutes, from etcd or ZooKeeper there, in PostgreSQL here. After 64 ids in a millisecond it waits for another, ten
 * times 0.4 ms, then fails. A clock that goes back is not noticed: the sequence restarts at 0, and ids repeat. Source:
 * Lable, <a href="https://github.com/LableOrg/java-uniqueid">github.com</a>.
 */
final class UniqueIdScheme implements Scheme {

    static final int MAX_GENERATOR = 2047;
    private static final int MAX_CLUSTER = 15;
    private static final int MAX_SEQUENCE = 63;
    private static final long MAX_TIME = (1L << 42) - 1;
    private static final long TIME_SEQUENTIAL_FLAG = 1L << 12;

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "uniqueid",
            "Lable's uniqueid",
            "42 milliseconds since 1970, reversed or not | 6 sequence | 3 generator, high | 1 mode | 8 generator, low | 4 cluster",
            "https://github.com/LableOrg/java-uniqueid",
            64,
            false,
            false,
            true,
            true,
            false,
            ClockStep.REPEATS);

    /** The year of the scheme's publication. */
    private static final Instant FIRST = Instant.parse("2014-01-01T00:00:00Z");

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    public ExplainedId decode(String id) {
        HexId.parse(name(), id, 8);
        long bits = HexFormat.fromHexDigitsToLong(id);
        boolean sequential = (bits & TIME_SEQUENTIAL_FLAG) != 0;
        int generator = ((int) (bits >>> 5) & 0x700) | ((int) (bits >>> 4) & 0xff);
        return new Explanation(id)
                .time(sequential ? bits >>> 22 : Long.reverse(bits) & MAX_TIME)
                .field("sequence", (int) (bits >>> 16) & MAX_SEQUENCE)
                .field("mode", (sequential ? UniqueIdMode.TIME_SEQUENTIAL : UniqueIdMode.SPREAD).name())
                .field("generator", generator)
                .field("cluster", (int) bits & MAX_CLUSTER)
                .warnIf(generator > 255, "a generator above 255 needs a release with 11 bits for it")
                .done();
    }

    @Override
    public Optional<Guess> guess(String id, Instant now) {
        try {
            boolean decimal = id.chars().allMatch(Character::isDigit);
            return Optional.of(Plausibility.byTime(this, decode(id), FIRST, now, decimal ? 5 : 90, ""));
        } catch (MalformedIdException e) {
            return Optional.empty();
        }
    }

    /** Encodes an id from these fields. */
    static long encode(long timeMillis, int sequence, UniqueIdMode mode, long generator, int cluster) {
        if (timeMillis < 0 || timeMillis > MAX_TIME) {
            throw new IllegalArgumentException("time %s is out of range %s..%s"
                    .formatted(Instant.ofEpochMilli(timeMillis), Instant.EPOCH, Instant.ofEpochMilli(MAX_TIME)));
        }
        long time = mode == UniqueIdMode.SPREAD ? Long.reverse(timeMillis) : timeMillis << 22 | TIME_SEQUENTIAL_FLAG;
        return time | (long) sequence << 16 | (generator & 0x700) << 5 | (generator & 0xff) << 4 | cluster;
    }

    @Override
    public IdGenerator generator(GeneratorSettings settings) throws SQLException {
        if (settings.cluster() < 0 || settings.cluster() > MAX_CLUSTER) {
            throw new IllegalArgumentException(
                    "cluster %s is out of range 0..%s".formatted(settings.cluster(), MAX_CLUSTER));
        }
        // A generator's number is unique within its cluster.
        String claimed = settings.cluster() == 0 ? name() : name() + " cluster " + settings.cluster();
        Worker worker = Worker.of(claimed, settings, 0, MAX_GENERATOR);
        return new Generator(worker, settings);
    }

    private static final class Generator implements IdGenerator {

        private static final int MAX_TRIES = 10;
        private static final long TRY_NANOS = 400_000;

        private final Worker worker;
        private final InstantSource clock;
        private final UniqueIdMode mode;
        private final int cluster;
        private long last;
        private int sequence;

        Generator(Worker worker, GeneratorSettings settings) {
            this.worker = worker;
            this.clock = settings.clock();
            this.mode = settings.mode();
            this.cluster = settings.cluster();
        }

        @Override
        public synchronized String next() {
            worker.check();
            long now = now();
            sequence = now == last ? sequence + 1 : 0;
            last = now;
            return HexFormat.of().toHexDigits(encode(now, sequence, mode, worker.id(), cluster));
        }

        private long now() {
            long now = clock.millis();
            for (int tries = 0; now == last && sequence == MAX_SEQUENCE; tries++) {
                if (tries == MAX_TRIES) {
                    throw new ClockStandsException("uniqueid", now);
                }
                LockSupport.parkNanos(TRY_NANOS);
                now = clock.millis();
            }
            return now;
        }

        @Override
        public void close() throws SQLException {
            worker.close();
        }
    }
}
