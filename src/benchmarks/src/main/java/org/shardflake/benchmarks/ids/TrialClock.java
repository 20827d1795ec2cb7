/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.SQLException;
import java.time.Duration;

/** A clock that can misbehave. */
interface TrialClock extends AutoCloseable {

    /** Runs on from a time that is earlier by so much. */
    void stepBack(Duration by) throws SQLException;

    /** Stands. */
    void stand() throws SQLException;

    /** Shows the right time again. */
    void mend() throws SQLException;

    @Override
    default void close() throws SQLException {}
}
