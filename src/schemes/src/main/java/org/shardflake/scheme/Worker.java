/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;

/** The number that distinguishes a generator from the others of its scheme. */
sealed interface Worker extends AutoCloseable permits Worker.Given, WorkerLease {

    /** The number. */
    long id();

    /** The number of times that the number was claimed, including this time; 1 for a given number. */
    long launch();

    /**
     * Checks, before each id, that the number still belongs to this generator.
     *
     * @throws LeaseLostException if it does not
     */
    void check();

    @Override
    void close() throws SQLException;

    /**
     * The number from the settings, or otherwise one claimed in the first database.
     *
     * @throws IllegalArgumentException if the number is out of range, or there is neither
     */
    static Worker of(String scheme, GeneratorSettings settings, long first, long last) throws SQLException {
        if (settings.worker().isPresent()) {
            return new Given(checkRange(settings.worker().getAsLong(), first, last));
        }
        if (settings.dataSources().isEmpty()) {
            throw new IllegalArgumentException(
                    "scheme %s needs a worker %s..%s, or a server to claim one from".formatted(scheme, first, last));
        }
        return WorkerLease.claim(scheme, settings, first, last);
    }

    static long checkRange(long worker, long first, long last) {
        if (worker < first || worker > last) {
            throw new IllegalArgumentException("worker %s is out of range %s..%s".formatted(worker, first, last));
        }
        return worker;
    }

    /** A number whose uniqueness the caller guarantees. */
    record Given(long id) implements Worker {
        @Override
        public long launch() {
            return 1;
        }

        @Override
        public void check() {}

        @Override
        public void close() {}
    }
}
