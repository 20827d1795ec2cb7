/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;
import java.time.Instant;
import java.util.Optional;

/**
 * DecimalId: a counter, a generator and the generator's launch, in decimal places that people can read.
 *
 * <p>{@code counter * 10^10 + generator * 10^5 + launch}: 14150009200065 is the 1415th id of generator 92 in launch 65.
 * The counter is 1..922337202 and begins at 1 with each launch, so ids do not sort by time; launch 0 is for tests.
 * Something has to count launches; here it is the claims of a generator's number in PostgreSQL. When a counter runs
 * out, ids would continue with another generator, as a new one here does. Up to a counter of 900,719 an id is exact in
 * JavaScript, whose numbers are exact up to 2^53 - 1, about 9.0e15; the publication has e12. Source: Actoromicon, <a
 * href="https://actoromicon.rs/ch10-01-id-generation.html">actoromicon.rs</a>.
 */
final class DecimalIdScheme extends NumericScheme {

    private static final SchemeDescription DESCRIPTION = new SchemeDescription(
            "decimalid",
            "DecimalId",
            "decimal places: counter | 5 generator | 5 launch",
            "https://actoromicon.rs/ch10-01-id-generation.html",
            64,
            false,
            false,
            true,
            true,
            false,
            ClockStep.NO_CLOCK);

    private static final long PLACES = 100_000;
    private static final long MAX_PART = PLACES - 1;
    /** The largest counter that fits in a bigint. */
    private static final long MAX_COUNTER = Long.MAX_VALUE / (PLACES * PLACES) - 1;

    private static final long MAX_EXACT_IN_JAVASCRIPT = (1L << 53) - 1;

    @Override
    public SchemeDescription description() {
        return DESCRIPTION;
    }

    @Override
    ExplainedId explain(String text, long id) {
        long counter = id / (PLACES * PLACES);
        int generator = (int) (id / PLACES % PLACES);
        int launch = (int) (id % PLACES);
        return new Explanation(text)
                .field("counter", counter)
                .field("generator", generator)
                .field("launch", launch)
                .warnIf(counter < 1, "counters begin at 1")
                .warnIf(launch == 0, "launch 0 is for tests")
                .warnIf(id > MAX_EXACT_IN_JAVASCRIPT, "beyond 2^53 - 1, where JavaScript rounds")
                .done();
    }

    @Override
    Optional<Guess> judge(ExplainedId explained, long id, Instant now) {
        long generator = id / PLACES % PLACES;
        long launch = id % PLACES;
        if (id < PLACES * PLACES || launch == 0) {
            return Optional.empty();
        }
        boolean small = generator < 1000 && launch < 1000;
        return Optional.of(
                small
                        ? new Guess(this, 75, "generator and launch are small numbers", explained)
                        : new Guess(this, 5, "generator and launch are large numbers", explained));
    }

    static long encode(long counter, long generator, long launch) {
        return (counter * PLACES + generator) * PLACES + launch;
    }

    /** Claims a generator number, or the given one, in the first database, since only that database counts launches. */
    @Override
    public LongIdGenerator generator(GeneratorSettings settings) throws SQLException {
        long first = settings.worker().orElse(0);
        long last = settings.worker().orElse(MAX_PART);
        Worker.checkRange(first, 0, MAX_PART);
        Worker worker = WorkerLease.claim(name(), settings, first, last);
        if (worker.launch() > MAX_PART) {
            worker.close();
            throw new IllegalArgumentException(
                    "generator %s was launched %s times, and ids have room for %s; take another"
                            .formatted(worker.id(), worker.launch() - 1, MAX_PART));
        }
        return new Generator(worker);
    }

    private static final class Generator implements LongIdGenerator {

        private final Worker worker;
        private long counter;

        Generator(Worker worker) {
            this.worker = worker;
        }

        @Override
        public synchronized long nextLong() {
            worker.check();
            if (counter == MAX_COUNTER) {
                throw new IllegalStateException("counter %s is the last; make a new generator".formatted(counter));
            }
            return encode(++counter, worker.id(), worker.launch());
        }

        @Override
        public void close() throws SQLException {
            worker.close();
        }
    }
}
