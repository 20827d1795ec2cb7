/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;

/**
 * TraceId: seconds that wrap every 388 days, a node, a chunk for the thread, and a counter within the chunk.
 *
 * <p>A thread takes a chunk of 1023 numbers at a time, counted 1..1023, from 4096 chunks that wrap: an id repeats after
 * 4,190,208 others of its node in one second, or in one that the clock has gone back to. Made for traces that are
 * deleted within a year. A published formula shifts the node by 18, over the 22 bits of thread and counter; it takes
 * 22. Source: Actoromicon, <a href="https://actoromicon.rs/ch05-04-tracing.html">actoromicon.rs</a>.
 */
final class TraceIdScheme extends NumericScheme {

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "traceid",
            "TraceId",
            "1 zero | 25 seconds, modulo 2^25 | 16 node | 12 thread's chunk | 10 counter",
            "https://actoromicon.rs/ch05-04-tracing.html",
            64,
            false,
            false,
            true,
            true,
            false,
            ClockStep.GOES_BACK);

    private static final int MAX_NODE = 65_535;
    private static final int MAX_CHUNK = 4095;
    private static final int MAX_COUNTER = 1023;
    private static final long PERIOD = 1L << 25;

    private final InstantSource clock;

    TraceIdScheme() {
        this(InstantSource.system());
    }

    TraceIdScheme(InstantSource clock) {
        this.clock = clock;
    }

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    ExplainedId explain(String text, long id) {
        long seconds = id >>> 38 & PERIOD - 1;
        long now = clock.millis() / 1000;
        long latest = now - Math.floorMod(now - seconds, PERIOD);
        int counter = (int) id & MAX_COUNTER;
        return new Explanation(text)
                .time(latest * 1000)
                .field("seconds", (int) seconds)
                .field("node", (int) (id >>> 22) & MAX_NODE)
                .field("chunk", (int) (id >>> 10) & MAX_CHUNK)
                .field("counter", counter)
                .warnIf(true, "seconds begin again every 388 days; the time is the last that fits")
                .warnIf(counter == 0, "counters begin at 1")
                .warnIf(id < 0, "the sign bit is set, which the scheme leaves zero")
                .done();
    }

    @Override
    Optional<Guess> judge(ExplainedId explained, long id, Instant now) {
        return id < 0 || (id & MAX_COUNTER) == 0
                ? Optional.empty()
                : Optional.of(
                        new Guess(this, 10, "any number has a time, as seconds begin again every 388 days", explained));
    }

    static long encode(long seconds, long node, int chunk, int counter) {
        return (seconds & PERIOD - 1) << 38 | node << 22 | (long) chunk << 10 | counter;
    }

    /** A generator for one thread of the scheme; all threads of a process would share the count of chunks. */
    @Override
    public LongIdGenerator generator(GeneratorSettings settings) throws SQLException {
        return new Generator(Worker.of(name(), settings, 0, MAX_NODE), settings.clock());
    }

    private static final class Generator implements LongIdGenerator {

        private final Worker worker;
        private final InstantSource clock;
        private int chunk = -1;
        private int counter = MAX_COUNTER;

        Generator(Worker worker, InstantSource clock) {
            this.worker = worker;
            this.clock = clock;
        }

        @Override
        public synchronized long nextLong() {
            worker.check();
            if (counter == MAX_COUNTER) {
                chunk = chunk + 1 & MAX_CHUNK;
                counter = 0;
            }
            counter++;
            return encode(clock.millis() / 1000, worker.id(), chunk, counter);
        }

        @Override
        public void close() throws SQLException {
            worker.close();
        }
    }
}
