/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.benchmarks.ids.Candidate.DatabaseCandidate;

/** The tables of the candidates, all alike but for the id. */
final class Tables {

    private Tables() {}

    /** Makes the table of a candidate, empty, in place of the one that was there. */
    static void create(Connection connection, Candidate candidate) throws SQLException {
        Sql.execute(
                connection,
                "CREATE SCHEMA IF NOT EXISTS " + candidate.schema(),
                "DROP TABLE IF EXISTS " + candidate.table(),
                """
                CREATE TABLE %s (
                    id %s PRIMARY KEY,
                    uid bigint NOT NULL,
                    title text NOT NULL,
                    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
                )""".formatted(candidate.table(), candidate.type().column()));
        if (candidate instanceof DatabaseCandidate database) {
            List<String> prepare = database.prepareTable();
            Sql.execute(connection, prepare.toArray(String[]::new));
            Sql.execute(
                    connection,
                    "ALTER TABLE %s ALTER COLUMN id SET DEFAULT %s".formatted(database.table(), database.expression()));
        }
    }

    /** Bytes of an id in a row, with what the type adds to it. */
    static int bytesOfId(Connection connection, Candidate candidate) throws SQLException {
        return (int) Sql.number(connection, "SELECT max(pg_column_size(id)) FROM " + candidate.table());
    }
}
