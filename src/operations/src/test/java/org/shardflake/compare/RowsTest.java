/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.jdbc.Sql;

/** Whatever differs between two copies of a table, their digests differ, and otherwise not. */
class RowsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private TestDatabase from;
    private TestDatabase to;
    private Connection one;
    private Connection other;

    @BeforeEach
    void connect() throws SQLException {
        from = postgres.database(0);
        to = postgres.database(1);
        one = from.connect();
        other = to.connect();
        both("CREATE SCHEMA shard_0003; SET search_path = shard_0003");
    }

    @AfterEach
    void drop() throws SQLException {
        both("DROP SCHEMA shard_0003 CASCADE");
        one.close();
        other.close();
    }

    private void both(String sql) throws SQLException {
        Sql.execute(one, sql);
        Sql.execute(other, sql);
    }

    private boolean areEqual(String table) throws SQLException {
        Rows rows = Rows.of(one, other, table);
        return rows.digest(one).equals(rows.digest(other));
    }

    @ParameterizedTest
    @ValueSource(strings = {"2", "3", "8", "17", "41", "100", "555", "1000"})
    void twoRowsThatExchangeAValueDiffer(int row) throws SQLException {
        both("CREATE TABLE photo (id bigint PRIMARY KEY, likes bigint, title text)");
        both("INSERT INTO photo SELECT n, 7 * n, 'photo ' || n FROM generate_series(1, 1000) n");
        assertThat(areEqual("photo")).isTrue();

        Sql.execute(
                other,
                "UPDATE photo SET title = 'photo ' || CASE id WHEN 1 THEN %1$s ELSE 1 END WHERE id IN (1, %1$s)"
                        .formatted(row));
        assertThat(areEqual("photo")).isFalse();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "smallint                    | 1            | 2",
                "integer                     | 1            | -1",
                "bigint                      | 5000000000   | 5000000001",
                "bigint                      | 1            | 4294967296",
                "bigint                      | 21474836485  | 25769803782",
                "bigint                      | -1           | 0",
                "boolean                     | true         | false",
                "uuid                        | 00000000-0000-0000-0000-000000000001 | 00000000-0000-0000-0000-000000000002",
                "date                        | 2025-01-01   | infinity",
                "timestamp                   | 2025-01-01 00:00:00.000001 | -infinity",
                "timestamptz                 | 2025-01-01 00:00:00.000001+00 | 2025-01-01 00:00:00.000001+01",
                "timestamp                   | 2000-01-01 00:00:00.000001 | 2000-01-01 01:11:34.967296",
                "timestamptz                 | 2000-01-01 00:00:00.000001+00 | 2000-01-01 01:11:34.967296+00",
                "bytea                       | \\x07        | \\x0700",
                "text                        | a            | 'a '",
                "varchar(9) COLLATE \"C\"    | a            | A",
                "char(3)                     | a            | b",
                "numeric                     | 1.0          | 1.00",
                "double precision            | 0            | -0",
                "interval                    | 1 day        | 24:00",
                "jsonb                       | [1.0]        | [1.00]",
                "text[]                      | {a,NULL}     | '{a,\"NULL\"}'"
            })
    void aValueOfAnyTypeCounts(String type, String value, String another) throws SQLException {
        both("CREATE TABLE thing (id integer PRIMARY KEY, v %s, w %1$s NOT NULL)".formatted(type));
        String insert = "INSERT INTO thing VALUES (1, %s, %s)";
        Sql.execute(one, insert.formatted(Sql.quote(value), Sql.quote(value)));
        Sql.execute(other, insert.formatted(Sql.quote(value), Sql.quote(value)));
        assertThat(areEqual("thing")).isTrue();

        for (String set : new String[] {"v = " + Sql.quote(another), "v = NULL", "w = " + Sql.quote(another)}) {
            Sql.execute(other, "BEGIN; UPDATE thing SET " + set);
            assertThat(areEqual("thing")).as(set).isFalse();
            Sql.execute(other, "ROLLBACK");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "smallint, 0",
        "integer, 0",
        "bigint, 0",
        "boolean, false",
        "uuid, 00000000-0000-0000-0000-000000000000",
        "date, 2000-01-01",
        "timestamp, 2000-01-01",
        "timestamptz, 2000-01-01 00:00+00",
        "bytea, ''",
        "text, ''",
        "numeric, 0"
    })
    void nullIsNotWhatStandsForIt(String type, String value) throws SQLException {
        both("CREATE TABLE thing (id integer PRIMARY KEY, v %s)".formatted(type));
        Sql.execute(one, "INSERT INTO thing VALUES (1, NULL)");
        Sql.execute(other, "INSERT INTO thing VALUES (1, %s)".formatted(Sql.quote(value)));
        assertThat(areEqual("thing")).isFalse();
    }

    @Test
    void theOrderOfRowsAndColumnsDoesNotCount() throws SQLException {
        Sql.execute(one, "CREATE TABLE thing (id integer PRIMARY KEY, \"a %s\" text, \"b?\" date)");
        Sql.execute(other, "CREATE TABLE thing (gone text, \"b?\" date, id integer PRIMARY KEY, \"a %s\" text)");
        Sql.execute(other, "ALTER TABLE thing DROP COLUMN gone");
        Sql.execute(one, "INSERT INTO thing VALUES (1, NULL, '2025-01-01'), (2, 'two', NULL)");
        Sql.execute(other, "INSERT INTO thing VALUES (NULL, 2, 'two'), ('2025-01-01', 1, NULL)");
        assertThat(areEqual("thing")).isTrue();
    }

    @Test
    void aTableMayHaveAsManyColumnsAsPostgresAllows() throws SQLException {
        String columns = IntStream.range(0, 1599)
                .mapToObj(n -> "c%s smallint".formatted(n))
                .collect(Collectors.joining(", "));
        both("CREATE TABLE wide (id integer PRIMARY KEY, %s)".formatted(columns));
        both("INSERT INTO wide (id, c0, c1598) SELECT n, n, n FROM generate_series(1, 10) n");
        assertThat(areEqual("wide")).isTrue();

        Sql.execute(other, "UPDATE wide SET c1598 = 11 - c1598 WHERE id IN (1, 10)");
        assertThat(areEqual("wide")).isFalse();
    }

    @Test
    void aTableWithoutColumnsHasRowsToo() throws SQLException {
        both("CREATE TABLE nothing ()");
        assertThat(areEqual("nothing")).isTrue();
        Sql.execute(other, "INSERT INTO nothing DEFAULT VALUES");
        assertThat(areEqual("nothing")).isFalse();
    }
}
