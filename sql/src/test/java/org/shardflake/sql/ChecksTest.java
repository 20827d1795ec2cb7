/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryString;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.util.PSQLException;
import org.shardflake.cluster.PostgresExtension;

/** Rows that are not of their shard. */
class ChecksTest {

    private static final String CHECKS =
            "SELECT string_agg(conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid), '; ' ORDER BY conrelid::regclass::text, conname) FROM pg_constraint WHERE contype = 'c' AND connamespace = 'shard_0007'::regnamespace";

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("library", FunctionLibrary::deploy);

    private Connection connection;

    @BeforeEach
    void createShard() throws SQLException {
        connection = postgres.database(0).connect();
        execute(
                connection,
                "INSERT INTO shardflake.uid_column (column_name, shard_count) VALUES ('uid', 2000)",
                "SELECT shardflake.create_shard(7)");
    }

    @AfterEach
    void dropShard() throws SQLException {
        execute(connection, "SELECT shardflake.drop_shard(7, force => true)", "DELETE FROM shardflake.uid_column");
        connection.close();
    }

    private void createPhoto() throws SQLException {
        execute(
                connection,
                "CREATE TABLE shard_0007.photo (id bigint PRIMARY KEY, uid bigint)",
                "SELECT shardflake.complete_tables(7)");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "INSERT INTO shard_0007.photo (id, uid) VALUES (nextval('shard_0007.photo_id_seq'), 7)", // as Hibernate
                // does
                "INSERT INTO shard_0007.photo (id, uid) VALUES (17, 7)",
                "INSERT INTO shard_0007.photo (id, uid) VALUES (8 << 10, 7)",
                "INSERT INTO shard_0007.photo (uid) VALUES (8)",
                "INSERT INTO shard_0007.photo (uid) VALUES (-7)",
                "UPDATE shard_0007.photo SET uid = uid + 1",
                "UPDATE shard_0007.photo SET id = id + 1024",
            })
    void aRowOfAnotherShardIsRefused(String sql) throws SQLException {
        createPhoto();
        execute(connection, "INSERT INTO shard_0007.photo (uid) VALUES (2007)");

        assertThatThrownBy(() -> execute(connection, sql))
                .isInstanceOfSatisfying(
                        PSQLException.class,
                        e -> assertThat(e.getServerErrorMessage().getConstraint())
                                .endsWith("id_of_shard"))
                .hasMessageContaining("violates check constraint");
    }

    @ParameterizedTest
    @ValueSource(strings = {"column", "\u00fc"})
    void columnsWhoseNamesBeginAlikeHaveAnEquallyGoodCheckEach(String word) throws SQLException {
        String start = word.repeat(60 / word.getBytes(StandardCharsets.UTF_8).length);
        execute(connection, "CREATE TABLE shard_0007.photo (%1$s1 bigint, %1$s2 bigint)".formatted(start));

        for (int column = 1; column <= 2; column++) {
            assertThat(queryString(
                            connection,
                            "SELECT shardflake.add_check('shard_0007.photo', '%s%s')".formatted(start, column)))
                    .isEqualTo("t");
        }
        assertThat(
                        queryString(
                                connection,
                                "SELECT count(*) FROM pg_constraint WHERE conrelid = 'shard_0007.photo'::regclass AND conname LIKE '%\\_of\\_shard'"))
                .isEqualTo("2");
    }

    @Test
    void rowsOfTheShardPassAndSoDoesNull() throws SQLException {
        createPhoto();

        execute(
                connection,
                "INSERT INTO shard_0007.photo (uid) VALUES (7), (2007), (-1993), (9223372036854774007), (NULL)",
                "INSERT INTO shard_0007.photo (id, uid) VALUES (7 << 10, 7), (-9223372036854775808 | (7 << 10), 7)");
        assertThat(queryString(connection, "SELECT count(*) FROM shard_0007.photo"))
                .isEqualTo("7");
    }

    @ParameterizedTest
    @CsvSource({"smallint,7", "integer,-1993", "bigint,9223372036854774007"})
    void uidsOfEveryIntegerType(String type, String uid) throws SQLException {
        execute(
                connection,
                "CREATE TABLE shard_0007.account (uid " + type + " PRIMARY KEY, name text)",
                "SELECT shardflake.complete_tables(7)",
                "INSERT INTO shard_0007.account (uid) VALUES (" + uid + ")");

        assertThatThrownBy(() -> execute(connection, "INSERT INTO shard_0007.account (uid) VALUES (8)"))
                .hasMessageContaining("uid_of_shard");
    }

    @Test
    void whichTablesGetWhichChecks() throws SQLException {
        execute(
                connection,
                "CREATE TABLE shard_0007.photo (id bigint PRIMARY KEY, uid bigint)",
                "CREATE TABLE shard_0007.named (uid text PRIMARY KEY)",
                "CREATE TABLE shard_0007.event (id bigint DEFAULT shard_0007.next_id(), at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
                "CREATE TABLE shard_0007.event_rest PARTITION OF shard_0007.event DEFAULT",
                "CREATE TABLE shard_0007.detail (id bigint PRIMARY KEY REFERENCES shard_0007.photo)",
                "CREATE TABLE shard_0007.own (id bigint PRIMARY KEY, CONSTRAINT id_of_shard CHECK (true))",
                "SELECT shardflake.complete_tables(7)");

        String ids = "CHECK ((((id >> 10) & (8191)::bigint) = 7))";
        assertThat(queryString(connection, CHECKS))
                .isEqualTo(
                        String.join(
                                "; ",
                                "shard_0007.event id_of_shard " + ids,
                                "shard_0007.event_rest id_of_shard " + ids,
                                "shard_0007.own id_of_shard CHECK (true)",
                                "shard_0007.photo id_of_shard " + ids,
                                "shard_0007.photo uid_of_shard CHECK (((((uid % (2000)::bigint) + 2000) % (2000)::bigint) = 7))"));
    }

    private static final String SHOP = """
            CREATE TABLE shard_0007.customer (id bigint PRIMARY KEY, name text);
            COMMENT ON COLUMN shard_0007.customer.id IS 'shard key';
            CREATE TABLE shard_0007.orders (id bigint PRIMARY KEY, customer_id bigint NOT NULL REFERENCES shard_0007.customer);
            COMMENT ON COLUMN shard_0007.orders.customer_id IS 'Shard key: who has ordered';
            CREATE TABLE shard_0007.item (order_id bigint REFERENCES shard_0007.orders, line integer, customer_id bigint, uid bigint, PRIMARY KEY (order_id, line));
            COMMENT ON COLUMN shard_0007.item.customer_id IS 'shard key';
            """;

    @Test
    void aTableSaysItsKeyByAComment() throws SQLException {
        execute(connection, SHOP, "SELECT shardflake.complete_tables(7)");

        String key = "CHECK (((((%1$s %% (2000)::bigint) + 2000) %% (2000)::bigint) = 7))";
        assertThat(queryString(connection, CHECKS))
                .isEqualTo(String.join(
                        "; ",
                        "shard_0007.customer id_of_shard " + key.formatted("id"),
                        "shard_0007.item customer_id_of_shard " + key.formatted("customer_id"),
                        "shard_0007.orders customer_id_of_shard " + key.formatted("customer_id"),
                        "shard_0007.orders id_of_shard CHECK ((((id >> 10) & (8191)::bigint) = 7))"));
        execute(
                connection,
                "INSERT INTO shard_0007.customer (name) SELECT 'n' FROM generate_series(1, 1000)",
                "INSERT INTO shard_0007.orders (customer_id) SELECT id FROM shard_0007.customer",
                "SELECT shardflake.complete_tables(7)");
        assertThat(
                        queryString(
                                connection,
                                "SELECT count(DISTINCT id) || ' ' || min(id % 2000) || ' ' || max(id % 2000) FROM shard_0007.customer"))
                .isEqualTo("1000 7 7");
        assertThat(queryString(connection, "SELECT bool_and(shardflake.id_shard(id) = 7) FROM shard_0007.orders"))
                .isEqualTo("t");
        // Fenced, it makes none.
        execute(connection, "SELECT shardflake.fence_shard(7)");
        assertThatThrownBy(() -> execute(connection, "INSERT INTO shard_0007.customer (name) VALUES ('n')"))
                .isInstanceOfSatisfying(
                        PSQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("SF001"));
    }

    @Test
    void aKeyThatIsSaidLaterReplacesIdsWhileThereAreNone() throws SQLException {
        execute(
                connection,
                "CREATE TABLE shard_0007.customer (id bigint PRIMARY KEY)",
                "SELECT shardflake.complete_tables(7)",
                "COMMENT ON COLUMN shard_0007.customer.id IS 'shard key'",
                "SELECT shardflake.complete_tables(7)",
                "INSERT INTO shard_0007.customer DEFAULT VALUES");
        assertThat(queryString(connection, "SELECT id % 2000 FROM shard_0007.customer"))
                .isEqualTo("7");
        execute(
                connection,
                "CREATE TABLE shard_0007.person (id bigint PRIMARY KEY)",
                "SELECT shardflake.complete_tables(7)",
                "INSERT INTO shard_0007.person DEFAULT VALUES",
                "COMMENT ON COLUMN shard_0007.person.id IS 'shard key'");
        assertThatThrownBy(() -> execute(connection, "SELECT shardflake.complete_tables(7)"))
                .hasMessageContaining(
                        "table shard_0007.person cannot be keyed by id: it has rows whose id is a key of another shard");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "COMMENT ON COLUMN shard_0007.customer.id IS NULL | table shard_0007.item is keyed by customer_id, which refers to id of table shard_0007.customer, whose new ids are of another shard",
                "COMMENT ON COLUMN shard_0007.orders.id IS 'shard key' | table shard_0007.orders has several shard keys: id, customer_id",
                "DELETE FROM shardflake.uid_column | table shard_0007.customer is keyed by id, and this server does not know how many shards there are",
            })
    void keysThatWouldMisrouteAreRefused(String change, String message) throws SQLException {
        execute(connection, SHOP.replace("uid bigint,", ""), change);
        execute(connection, "ALTER TABLE shard_0007.item ADD FOREIGN KEY (customer_id) REFERENCES shard_0007.customer");

        assertThatThrownBy(() -> execute(connection, "SELECT shardflake.complete_tables(7)"))
                .hasMessageContaining(message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY | id",
                "id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY | id",
                "id bigserial PRIMARY KEY                           | id",
                "id bigint PRIMARY KEY, \"p%s\" serial            | p%s",
                "id uuid DEFAULT gen_random_uuid() PRIMARY KEY      | id",
                "id bigint PRIMARY KEY, uid bigint GENERATED BY DEFAULT AS IDENTITY |",
            })
    void keysThatPostgresqlFillsAreRefused(String columns, @Nullable String said) throws SQLException {
        String key = said == null ? "uid" : said;
        execute(connection, "CREATE TABLE shard_0007.customer (" + columns + ")");
        if (said != null) {
            execute(connection, "COMMENT ON COLUMN shard_0007.customer.\"%s\" IS 'shard key'".formatted(said));
        }

        assertThatThrownBy(() -> execute(connection, "SELECT shardflake.complete_tables(7)"))
                .hasMessageContaining("column %s of table shard_0007.customer is the shard key, and PostgreSQL fills it"
                        .formatted(key));
        execute(connection, "SET shardflake.copying = on", "SELECT shardflake.complete_tables(7)");
    }

    /** For an application that passes all keys itself. */
    @Test
    void aKeyThatPostgresqlFillsIsAcceptedWithACheckOfItsOwn() throws SQLException {
        execute(
                connection,
                "CREATE TABLE shard_0007.customer (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, CONSTRAINT id_of_shard CHECK (true))",
                "COMMENT ON COLUMN shard_0007.customer.id IS 'shard key'",
                "SELECT shardflake.complete_tables(7)");
    }

    @ParameterizedTest
    @CsvSource({
        "0,1,0",
        "9223372036854775807,8192,9223372036854775807",
        "9223372036846388223,1,1125899906842623",
        "11637205501278089,2000,2841114625811341"
    })
    void aKeyOfAnId(long id, int shards, long key) throws SQLException {
        assertThat(queryString(connection, "SELECT shardflake.id_to_key(%s, %s)".formatted(id, shards)))
                .isEqualTo(Long.toString(key));
    }

    @Test
    void tablesThatAreThereAlreadyAreLeftAlone() throws SQLException {
        execute(connection, "SET shardflake.checks = off");
        createPhoto();
        execute(connection, "RESET shardflake.checks", "SELECT shardflake.complete_tables(7)");

        assertThat(queryString(connection, CHECKS)).isNull();
    }

    @Test
    void aTableWithRowsGetsACheckForNewOnes() throws SQLException {
        execute(
                connection,
                "CREATE TABLE shard_0007.photo (id bigint PRIMARY KEY)",
                "INSERT INTO shard_0007.photo VALUES (1)",
                "SELECT shardflake.add_id_sequence('shard_0007.photo')");

        assertThat(queryString(connection, CHECKS)).endsWith("NOT VALID");
        assertThatThrownBy(() -> execute(connection, "INSERT INTO shard_0007.photo VALUES (2)"))
                .hasMessageContaining("id_of_shard");
        assertThat(queryString(connection, "SELECT shardflake.add_check('shard_0007.photo', 'id')"))
                .isEqualTo("f");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "add_check('shardflake.layout', 'epoch_ms')      | table shardflake.layout is not in the schema of a shard",
                "add_check('shard_0007.photo', 'nope')           | column nope of table shard_0007.photo is missing, but an id is bigint",
                "add_check('shard_0007.photo', 'small')          | column small of table shard_0007.photo is integer, but an id is bigint",
                "add_check('shard_0007.photo', 'name', 2000)     | column name of table shard_0007.photo is text, but a uid that can be checked is bigint, integer or smallint",
                "add_check('shard_0007.photo', 'small', 7)       | shard count 7 is out of range 8..8192",
            })
    void badInputNamesTheValueAndWhatWasExpected(String call, String message) throws SQLException {
        execute(connection, "CREATE TABLE shard_0007.photo (id bigint PRIMARY KEY, small integer, name text)");

        assertThatThrownBy(() -> queryString(connection, "SELECT shardflake." + call))
                .hasMessageContaining(message);
    }
}
