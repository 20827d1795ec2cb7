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
import java.util.Locale;
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
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("library", FunctionLibrary::deploy);

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
        execute(connection, "DROP SCHEMA IF EXISTS shard_0007 CASCADE", "DROP SCHEMA IF EXISTS other CASCADE");
        connection.close();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 9, 99, 1999, 8191})
    void createdShardMakesItsIdsAndDropsAgain(int shard) throws SQLException {
        String schema = String.format(Locale.ROOT, "shard_%04d", shard);

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
        // Once more changes nothing.
        assertThat(queryString(connection, "SELECT shardflake.add_id_sequence('shard_0007." + stem + "abc')"))
                .isEqualTo(first);
        assertThat(queryString(connection, "SELECT shardflake.add_id_sequence('shard_0007." + stem + "xyz')"))
                .isEqualTo(second);
        execute(
                connection,
                "CREATE TABLE shard_0007.taken (id bigint PRIMARY KEY)",
                "CREATE SEQUENCE shard_0007.taken_id_seq");
        assertSqlState("add_id_sequence('shard_0007.taken')", "42P07");
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

    /** Each statement builds something on the shard from outside, and the name is what the refusal says. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "CREATE VIEW other.v AS SELECT id FROM shard_0007.photo | view other.v",
                "CREATE MATERIALIZED VIEW other.m AS SELECT id FROM shard_0007.photo WITH NO DATA | materialized view other.m",
                "CREATE VIEW shard_0007.v AS SELECT id FROM shard_0007.photo; CREATE VIEW other.v AS SELECT id FROM shard_0007.v | view other.v",
                "CREATE TABLE other.t (id bigint REFERENCES shard_0007.photo) | constraint t_id_fkey on table other.t",
                "CREATE TYPE shard_0007.mood AS ENUM ('glad'); CREATE TABLE other.t (m shard_0007.mood) | column m of table other.t",
                "CREATE TABLE other.t (id bigint DEFAULT shard_0007.next_id()) | default value for column id of table other.t",
                "CREATE TABLE other.t () INHERITS (shard_0007.photo) | table other.t",
                "CREATE FUNCTION other.f() RETURNS bigint LANGUAGE sql RETURN (SELECT max(id) FROM shard_0007.photo) | function other.f()",
                "CREATE TABLE other.t (id bigint); CREATE RULE r AS ON INSERT TO other.t DO ALSO INSERT INTO shard_0007.photo VALUES (NEW.id) | rule r on table other.t",
                "CREATE TABLE other.t (id bigint); CREATE FUNCTION shard_0007.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER g BEFORE INSERT ON other.t EXECUTE FUNCTION shard_0007.f() | trigger g on table other.t",
                "CREATE TABLE other.t (id bigint); CREATE POLICY p ON other.t USING (id IN (SELECT id FROM shard_0007.photo)) | policy p on table other.t",
                "CREATE FUNCTION shard_0007.f(bigint) RETURNS bigint IMMUTABLE LANGUAGE sql RETURN $1; CREATE TABLE other.t (id bigint); CREATE INDEX i ON other.t (shard_0007.f(id)) | index other.i",
            })
    void whatOthersBuiltOnAShardIsNamedAndNotDropped(String sql, String name) throws SQLException {
        execute(connection, "CREATE SCHEMA other", sql);

        PSQLException e = assertSqlState("drop_shard(7)", "2BP01");

        assertThat(e.getServerErrorMessage().getMessage())
                .startsWith("shard 7 cannot be dropped: ")
                .contains(name);
        assertThat(queryString(connection, "SELECT count(*) FROM shard_0007.photo"))
                .isEqualTo("0");
        execute(connection, "SELECT shardflake.drop_shard(7, force => true)");
    }

    @Test
    void whatAShardUsesOfOthersDoesNotKeepIt() throws SQLException {
        execute(
                connection,
                "CREATE SCHEMA other CREATE TABLE country (code text PRIMARY KEY)",
                "CREATE TYPE other.mood AS ENUM ('glad')",
                "CREATE TABLE shard_0007.town (id bigint PRIMARY KEY, code text REFERENCES other.country, m other.mood, note text)",
                "CREATE TABLE shard_0007.parted (id bigint PRIMARY KEY REFERENCES shard_0007.town) PARTITION BY RANGE (id)",
                "CREATE TABLE shard_0007.part PARTITION OF shard_0007.parted DEFAULT",
                "CREATE VIEW shard_0007.v AS SELECT * FROM shard_0007.town",
                "CREATE STATISTICS shard_0007.s ON id, code FROM shard_0007.town",
                "CREATE PUBLICATION of_a_shard FOR TABLE shard_0007.town",
                "SELECT shardflake.drop_shard(7)",
                "DROP PUBLICATION of_a_shard");

        assertThat(queryString(connection, "SELECT to_regnamespace('shard_0007')"))
                .isNull();
        assertThat(queryString(connection, "SELECT count(*) FROM other.country"))
                .isEqualTo("0");
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
