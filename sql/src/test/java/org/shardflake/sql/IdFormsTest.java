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
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;
import org.shardflake.cluster.PostgresExtension;

class IdFormsTest {

    private static final String KEY = "'\\x000102030405060708090a0b0c0d0e0f'::bytea";

    /** pgcrypto comes after the library, and to a schema whose name needs quotes. */
    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1)
            .prepareOnce("library", FunctionLibrary::deploy)
            .prepare(connection -> {
                execute(connection, "CREATE SCHEMA \"Crypto\"", "CREATE EXTENSION pgcrypto SCHEMA \"Crypto\"");
            });

    private static Connection connection;

    @BeforeAll
    static void connect() throws SQLException {
        connection = postgres.database(0).connect();
    }

    @AfterAll
    static void disconnect() throws SQLException {
        connection.close();
    }

    @ParameterizedTest
    @CsvFileSource(resources = "/vectors/forms.csv", useHeadersInDisplayName = true)
    void writesAndReadsTheSharedVectors(long id, String base32, String shortcode, String key, String publicId)
            throws SQLException {
        assertThat(queryString(
                        connection,
                        "SELECT concat_ws(' ', shardflake.id_to_base32(id), shardflake.base32_to_id('%s'), shardflake.id_to_shortcode(id), shardflake.shortcode_to_id('%s')) FROM (SELECT '%s'::bigint AS id) AS given"
                                .formatted(base32, shortcode, id)))
                .isEqualTo("%s %s %s %s", base32, id, shortcode, id);
        if (id >= 0) {
            assertThat(queryString(
                            connection,
                            "SELECT concat_ws(' ', shardflake.id_to_public(%s, key), shardflake.public_to_id('%s', key)) FROM (SELECT '\\x%s'::bytea AS key) AS given"
                                    .formatted(id, publicId, key)))
                    .isEqualTo("%s %s", publicId, id);
        }
    }

    @Test
    void base32IsReadInLowerCaseAndWithTheLettersThatLookLikeDigits() throws SQLException {
        assertThat(queryLong(
                        connection,
                        "SELECT count(*) FROM unnest('{00aaqz8619xw9,oOAAQZ86i9XW9,O0AAQZ86l9XW9,00AAQZ86L9XW9,00AAQZ86I9XW9}'::text[]) AS base32"
                                + " WHERE shardflake.base32_to_id(base32) = 11637205501278089"))
                .isEqualTo(5);
    }

    /** In Turkish upper case of i is not I, and a collation that is not deterministic cannot be searched in. */
    @Test
    void textIsReadAlikeInEveryCollation() throws SQLException {
        execute(
                connection,
                "CREATE COLLATION IF NOT EXISTS public.blurred (provider = icu, locale = 'tr-u-ks-level1', deterministic = false)");

        assertThat(
                        queryLong(
                                connection,
                                "SELECT shardflake.base32_to_id('00aaqz86i9xw9' COLLATE public.blurred) - shardflake.shortcode_to_id('pV_oMFPeJ' COLLATE public.blurred)"))
                .isZero();
    }

    @Test
    void base32SortsLikeTheId() throws SQLException {
        assertThat(queryLong(
                        connection,
                        "SELECT count(*) FROM (SELECT id, lead(id) OVER (ORDER BY shardflake.id_to_base32(id) COLLATE \"C\") AS next"
                                + " FROM (SELECT (random() * 9223372036854775000)::bigint >> (random() * 62)::integer AS id"
                                + " FROM generate_series(1, 10000)) AS ids) AS sorted WHERE next < id"))
                .isZero();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "base32_to_id('')               | 22P02 | '' is not an id in base32: it has 0 characters instead of 13 | The form has all its leading zeros: shardflake.id_to_base32(7) is 0000000000007.",
                "base32_to_id('00AAQ-8619XW9')  | 22P02 | '00AAQ-8619XW9' is not an id in base32: character 6 is not one of its digits | The digits are 0-9 and A-Z without U, in either case; I and L stand for 1, O for 0.",
                "base32_to_id('00AAQZ8619XWU')  | 22P02 | '00AAQZ8619XWU' is not an id in base32: character 13 is not one of its digits | The digits are 0-9 and A-Z without U, in either case; I and L stand for 1, O for 0.",
                "base32_to_id('G000000000000')  | 22003 | 'G000000000000' is not an id in base32: it is out of range 0000000000000..FZZZZZZZZZZZZ | An id has 64 bits.",
                "shortcode_to_id('')            | 22P02 | '' is not a shortcode: it has 0 characters instead of 1 to 11 | A shortcode has 6 bits in each character, and an id 64 bits.",
                "shortcode_to_id('pV+oMFPeJ')   | 22P02 | 'pV+oMFPeJ' is not a shortcode: character 3 is not one of its digits | The digits are A-Z, a-z, 0-9, - and _.",
                "shortcode_to_id('Q__________') | 22003 | 'Q__________' is not a shortcode: it is out of range A..P__________ | An id has 64 bits.",
                "shortcode_to_id('AB')          | 22P02 | 'AB' is not a shortcode: it begins with A, a zero | Leading zeros are left out, so that an id has one shortcode only.",
                "id_to_public(-1, '0123456789abcdef')             | 22003 | id -1 is out of range 0..9223372036854775807 | The public form is of ids that Shardflake makes, which are positive.",
                "public_to_id('8000000000000', '0123456789abcdef') | 22003 | '8000000000000' is not a public id: it is out of range 0000000000000..7ZZZZZZZZZZZZ | Public ids are below 2^63, so that the first character is 0 to 7.",
                "id_to_public(7, '0123456789abcde')               | 22023 | key has 15 bytes instead of 16, 24 or 32 | Make one with: openssl rand -hex 32. In SQL it is decode('...', 'hex').",
            })
    void saysWhatIsWrong(String call, String sqlState, String message, String hint) {
        assertThatThrownBy(() -> execute(connection, "SELECT shardflake." + call))
                .isInstanceOfSatisfying(PSQLException.class, e -> {
                    assertThat(e.getSQLState()).isEqualTo(sqlState);
                    ServerErrorMessage error = e.getServerErrorMessage();
                    assertThat(error.getMessage()).isEqualTo(message);
                    assertThat(error.getHint()).isEqualTo(hint);
                });
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "id_to_base32(NULL)",
                "base32_to_id(NULL)",
                "id_to_shortcode(NULL)",
                "shortcode_to_id(NULL)",
                "id_to_public(NULL, " + KEY + ")",
                "id_to_public(7, NULL)",
                "public_to_id(NULL, " + KEY + ")",
                "public_to_id('5Y5C14P1NQVKZ', NULL)"
            })
    void nullGivesNull(String call) throws SQLException {
        assertThat(queryString(connection, "SELECT shardflake." + call)).isNull();
    }

    @Test
    void worksInAParallelWorker() throws SQLException {
        execute(
                connection,
                "CREATE TABLE public.photo AS SELECT id::bigint FROM generate_series(1, 1000) AS id",
                "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0");
        String search = " FROM public.photo WHERE shardflake.public_to_id(shardflake.id_to_public(id, %s), %s) <> id"
                .formatted(KEY, KEY);

        assertThat(queryString(connection, "EXPLAIN SELECT id" + search)).startsWith("Gather");
        assertThat(queryLong(connection, "SELECT count(*)" + search)).isZero();
    }

    /** Functions of the same names that a caller may have put before those of PostgreSQL. */
    @Test
    void hostileSearchPathChangesNothing() throws SQLException {
        execute(
                connection,
                "CREATE SCHEMA hostile",
                "CREATE FUNCTION hostile.substr(text, integer, integer) RETURNS text LANGUAGE sql RETURN '0'",
                "CREATE FUNCTION hostile.substr(bytea, integer, integer) RETURNS bytea LANGUAGE sql RETURN '\\x00000000'::bytea",
                "CREATE FUNCTION hostile.encrypt(bytea, bytea, text) RETURNS bytea LANGUAGE sql RETURN $1",
                "CREATE FUNCTION hostile.shift(bigint, integer) RETURNS bigint LANGUAGE sql RETURN 1",
                "CREATE OPERATOR hostile.<< (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = hostile.shift)",
                "CREATE OPERATOR hostile.>> (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = hostile.shift)",
                "SET search_path = hostile, \"Crypto\", pg_catalog");
        try {
            assertThat(queryString(
                            connection,
                            "SELECT concat_ws(' ', shardflake.id_to_base32(id), shardflake.base32_to_id('00AAQZ8619XW9'), shardflake.id_to_shortcode(id),"
                                    + " shardflake.shortcode_to_id('pV_oMFPeJ'), shardflake.id_to_public(id, " + KEY
                                    + "), shardflake.public_to_id('0K9HK295MPD2H', " + KEY
                                    + ")) FROM (VALUES (11637205501278089)) AS example (id)"))
                    .isEqualTo(
                            "00AAQZ8619XW9 11637205501278089 pV_oMFPeJ 11637205501278089 0K9HK295MPD2H 11637205501278089");
        } finally {
            execute(connection, "RESET search_path");
        }
    }

    @Test
    void onlyThePublicFormNeedsPgcrypto() throws SQLException {
        connection.setAutoCommit(false);
        try {
            execute(connection, "DROP EXTENSION pgcrypto");

            assertThat(queryString(connection, "SELECT shardflake.id_to_base32(7) || shardflake.id_to_shortcode(7)"))
                    .isEqualTo("0000000000007H");
            assertThatThrownBy(() -> execute(connection, "SELECT shardflake.id_to_public(7, " + KEY + ")"))
                    .isInstanceOfSatisfying(PSQLException.class, e -> {
                        assertThat(e.getSQLState()).isEqualTo("42704");
                        assertThat(e.getServerErrorMessage().getMessage())
                                .startsWith("public ids need the extension pgcrypto, which database idformstest_");
                        assertThat(e.getServerErrorMessage().getHint()).startsWith("CREATE EXTENSION pgcrypto; ");
                    });
        } finally {
            connection.rollback();
            connection.setAutoCommit(true);
        }
    }
}
