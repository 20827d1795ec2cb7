/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;
import org.shardflake.jdbc.Sql;

/** A clock that can misbehave. */
interface TrialClock {

    /** Runs on from a time that is earlier by so much; the right one if that is zero. */
    void run(Duration behind) throws SQLException;

    /** Stands. */
    void stand() throws SQLException;

    /** The clock of a generator in Java. Thread-safe. */
    final class JavaTrialClock implements TrialClock, InstantSource {

        private record State(Duration behind, @Nullable Instant stands) {}

        private volatile State state = new State(Duration.ZERO, null);

        @Override
        public Instant instant() {
            State now = state;
            return now.stands() == null ? Instant.now().minus(now.behind()) : now.stands();
        }

        @Override
        public void run(Duration behind) {
            state = new State(behind, null);
        }

        @Override
        public void stand() {
            state = new State(Duration.ZERO, Instant.now());
        }
    }

    /**
     * The clock of functions in a database, read from a row of a table. Plain SQL reads {@code clock_timestamp()} by the search path, which finds
     * another one here; Shardflake, which does not care for the search path, reads its clock in one function of its own, which is replaced.
     */
    record DatabaseTrialClock(Connection connection) implements TrialClock {

        /** The clock of a database in which the functions are already. */
        static DatabaseTrialClock create(Connection connection) throws SQLException {
            Sql.execute(connection, """
                    CREATE SCHEMA trial;
                    CREATE TABLE trial.clock (behind interval NOT NULL, stands timestamptz);
                    INSERT INTO trial.clock VALUES ('0');
                    CREATE FUNCTION trial.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
                    RETURN (SELECT coalesce(stands, pg_catalog.clock_timestamp() - behind) FROM trial.clock);
                    CREATE OR REPLACE FUNCTION shardflake.clock() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
                    RETURN trial.clock_timestamp()""");
            return new DatabaseTrialClock(connection);
        }

        /** Has a session read this clock. */
        static void use(Connection session) throws SQLException {
            Sql.execute(session, "SET search_path TO trial, pg_catalog, public");
        }

        @Override
        public void run(Duration behind) throws SQLException {
            Sql.execute(
                    connection,
                    "UPDATE trial.clock SET stands = NULL, behind = %d * interval '1 ms'".formatted(behind.toMillis()));
        }

        @Override
        public void stand() throws SQLException {
            Sql.execute(connection, "UPDATE trial.clock SET stands = pg_catalog.clock_timestamp(), behind = '0'");
        }
    }
}
