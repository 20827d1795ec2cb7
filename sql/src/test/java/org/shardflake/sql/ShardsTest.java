/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLong;
import static org.shardflake.sql.Shards.queryString;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.util.PSQLException;
import org.shardflake.cluster.PostgresExtension;

/** create_shard, drop_shard, add_id_sequence. */
class ShardsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1).prepare(FunctionLibrary::deploy);

    private Connection connection;

    @BeforeEach
    void connectAndCreateShard7() throws SQLException {
        connection = postgres.database(0).connect();
        execute(
                connection,
                "SELECT shardflake.create_shard(7)",
                "CREATE TABLE shard_0007.photo (id bigint PRIMARY KEY, uid bigint)",
                "CREATE TABLE shard_0007.\"Odd Name\" (\"Id\" bigint, small integer)");
    }

    @AfterEach
    void dropShard7() throws SQLException {
        execute(connection, "DROP SCHEMA IF EXISTS shard_0007 CASCADE");
        connection.close();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 9, 99, 1999, 8191})
    void createdShardMakesItsIdsAndDropsAgain(int shard) throws SQLException {
        String schema = String.format("shard_%04d", shard);

        assertThat(queryString(connection, "SELECT shardflake.create_shard(" + shard + ")"))
                .isEqualTo(schema);
        assertThat(queryLong(connection, "SELECT shardflake.id_shard(" + schema + ".next_id())"))
                .isEqualTo(shard);
        execute(connection, "SELECT shardflake.drop_shard(" + shard + ")");
        assertThat(queryString(connection, "SELECT to_regnamespace('" + schema + "')"))
                .isNull();
    }

    @Test
    void addedSequenceIsTheTablesOwn() throws SQLException {
        assertThat(queryString(connection, "SELECT shardflake.add_id_sequence('shard_0007.photo')"))
                .isEqualTo("shard_0007.photo_id_seq");

        assertThat(queryString(connection, "SELECT pg_get_serial_sequence('shard_0007.photo', 'id')"))
                .isEqualTo("shard_0007.photo_id_seq");
        assertThat(
                        queryString(
                                connection,
                                "SELECT column_default FROM information_schema.columns WHERE table_name = 'photo' AND column_name = 'id'"))
                .isEqualTo("shard_0007.next_id('shard_0007.photo_id_seq'::regclass)");
        execute(connection, "INSERT INTO shard_0007.photo (uid) VALUES (7)", "DROP TABLE shard_0007.photo");
        assertThat(queryString(connection, "SELECT to_regclass('shard_0007.photo_id_seq')"))
                .isNull();
    }

    @Test
    void namesThatNeedQuotesAreQuoted() throws SQLException {
        assertThat(queryString(connection, "SELECT shardflake.add_id_sequence('shard_0007.\"Odd Name\"', 'Id')"))
                .isEqualTo("shard_0007.\"Odd Name_Id_seq\"");
        assertThat(queryLong(
                        connection,
                        "INSERT INTO shard_0007.\"Odd Name\" DEFAULT VALUES RETURNING shardflake.id_shard(\"Id\")"))
                .isEqualTo(7);
    }

    @Test
    void sequencesOfLongTableNamesStayApart() throws SQLException {
        String stem = "a_table_name_of_nearly_as_many_letters_as_postgresql_allows_";
        for (String end : new String[] {"abc", "xyz"}) {
            execute(connection, "CREATE TABLE shard_0007." + stem + end + " (id bigint)");
        }
        String first = queryString(connection, "SELECT shardflake.add_id_sequence('shard_0007." + stem + "abc')");
        String second = queryString(connection, "SELECT shardflake.add_id_sequence('shard_0007." + stem + "xyz')");

        // The first 63 letters are all that a name has.
        assertThat(second).isNotEqualTo(first).matches("shard_0007\\.a_tabl_[0-9a-f]{32}_seq");
        assertSqlState("add_id_sequence('shard_0007." + stem + "abc')", "42P07");
        assertSqlState("add_id_sequence('shard_0007." + stem + "xyz')", "42P07");
    }

    @Test
    void sequencesOfLongColumnNamesStayApart() throws SQLException {
        String column = "a".repeat(62);
        for (String table : new String[] {"picture", "person"}) {
            execute(
                    connection,
                    "CREATE TABLE shard_0007.%s (%s bigint PRIMARY KEY)".formatted(table, column),
                    "SELECT shardflake.add_id_sequence('shard_0007.%s', '%s')".formatted(table, column));
        }

        assertThat(queryLong(connection, "INSERT INTO shard_0007.person DEFAULT VALUES RETURNING 1"))
                .isEqualTo(1);
        execute(connection, "DROP TABLE shard_0007.picture, shard_0007.person");
    }

    @Test
    void shardWithAMaterializedViewIsDropped() throws SQLException {
        execute(
                connection,
                "SELECT shardflake.create_shard(21)",
                "CREATE MATERIALIZED VIEW shard_0021.empty AS SELECT 1 AS n WHERE false",
                "CREATE MATERIALIZED VIEW shard_0021.unfilled AS SELECT 1 AS n WITH NO DATA",
                "SELECT shardflake.drop_shard(21)");

        assertThat(queryString(connection, "SELECT to_regnamespace('shard_0021')"))
                .isNull();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "create_shard(7) | 42P06 | shard 7 is on this server already: schema shard_0007 exists",
                "create_shard(8192) | 22023 | shard 8192 is out of range 0..8191",
                "create_shard(NULL) | 22023 | shard NULL is out of range 0..8191",
                "drop_shard(8) | 3F000 | shard 8 is not on this server: there is no schema shard_0008",
                "drop_shard(-1) | 22023 | shard -1 is out of range 0..8191",
                "add_id_sequence('shardflake.layout') | 22023 | table shardflake.layout is not in the schema of a shard",
                "add_id_sequence('shard_0007.photo', 'nope') | 42804 | column nope of table shard_0007.photo is missing, but an id is bigint",
                "add_id_sequence('shard_0007.\"Odd Name\"', 'small') | 42804 | column small of table shard_0007.\"Odd Name\" is integer, but an id is bigint"
            })
    void badInputNamesTheValueAndWhatWasExpected(String call, String sqlState, String message) {
        PSQLException e = assertSqlState(call, sqlState);

        assertThat(e.getServerErrorMessage().getMessage()).isEqualTo(message);
        assertThat(e.getServerErrorMessage().getHint()).isNotBlank();
    }

    @Test
    void shardWithRowsIsDroppedOnlyByForce() throws SQLException {
        execute(connection, "INSERT INTO shard_0007.photo VALUES (1)");

        PSQLException e = assertSqlState("drop_shard(7)", "2BP01");
        assertThat(e.getServerErrorMessage().getMessage())
                .isEqualTo("shard 7 is not empty: table shard_0007.photo has rows");
        assertThat(queryLong(connection, "SELECT count(*) FROM shard_0007.photo"))
                .isEqualTo(1);
        execute(connection, "SELECT shardflake.drop_shard(7, force => true)");
        assertThat(queryString(connection, "SELECT to_regnamespace('shard_0007')"))
                .isNull();
    }

    private PSQLException assertSqlState(String call, String sqlState) {
        PSQLException[] thrown = new PSQLException[1];
        assertThatThrownBy(() -> execute(connection, "SELECT shardflake." + call))
                .isInstanceOfSatisfying(PSQLException.class, e -> {
                    assertThat(e.getSQLState()).as(e.getMessage()).isEqualTo(sqlState);
                    thrown[0] = e;
                });
        return thrown[0];
    }
}
