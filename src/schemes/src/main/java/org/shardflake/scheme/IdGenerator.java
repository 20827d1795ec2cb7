/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * Generates ids of one scheme.
 *
 * <p>Thread-safe. Close it: it may hold a connection and a claim on a worker id, which others can then have.
 */
public interface IdGenerator extends AutoCloseable {

    /**
     * The next id, as text.
     *
     * @throws ClockWentBackException if the scheme refuses to work with a clock that went back
     * @throws LeaseLostException if its claim on a worker id has run out
     * @throws SQLException if it needs a database that failed
     */
    String next() throws SQLException;

    /**
     * The next {@code count} ids, in the order of their creation.
     *
     * @throws IllegalArgumentException if {@code count} is negative
     */
    default List<String> batch(int count) throws SQLException {
        if (count < 0) {
            throw new IllegalArgumentException("count %s is negative".formatted(count));
        }
        List<String> ids = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            ids.add(next());
        }
        return ids;
    }

    /** Releases the generator's connection and claim. */
    @Override
    default void close() throws SQLException {}
}
