/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

import java.sql.SQLException;

/** Generates ids that fit in a {@code bigint}. */
public interface LongIdGenerator extends IdGenerator {

    /** The next id; otherwise as {@link #next()}. */
    long nextLong() throws SQLException;

    /** The next id in decimal, signed. */
    @Override
    default String next() throws SQLException {
        return Long.toString(nextLong());
    }
}
