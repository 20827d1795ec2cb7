/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLong;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.util.PSQLException;
import org.shardflake.cluster.PostgresExtension;

/** What an application's role can do with the documented grants, and what it cannot. */
class RolesTest {

    private static final String DENIED = "42501";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1).prepare(RolesTest::deployAsOwner);

    private Connection app;

    /** The library belongs to one role, the shards to another: neither is a superuser. */
    private static void deployAsOwner(Connection superuser) throws SQLException {
        execute(
                superuser,
                "DROP ROLE IF EXISTS \"flake-owner\", flake_schemas, flake_app",
                "CREATE ROLE \"flake-owner\" LOGIN PASSWORD 'owner'",
                "CREATE ROLE flake_schemas LOGIN PASSWORD 'schemas'",
                "CREATE ROLE flake_app LOGIN PASSWORD 'app'",
                "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO \"flake-owner\", flake_schemas', current_database()); END $$",
                "SET ROLE \"flake-owner\"");
        FunctionLibrary.deploy(superuser);
        execute(
                superuser,
                "GRANT USAGE ON SCHEMA shardflake TO flake_schemas, flake_app",
                "GRANT EXECUTE ON FUNCTION shardflake.create_shard(integer), shardflake.drop_shard(integer, boolean),"
                        + " shardflake.add_id_sequence(regclass, name), shardflake.create_id_sequence(text, text)"
                        + " TO flake_schemas",
                "SET ROLE flake_schemas",
                "SELECT shardflake.create_shard(7), shardflake.create_shard(8)",
                "CREATE TABLE shard_0007.photo (id bigint PRIMARY KEY, uid bigint)",
                "SELECT shardflake.add_id_sequence('shard_0007.photo')",
                "GRANT USAGE ON SCHEMA shard_0007, shard_0008 TO flake_app",
                "GRANT INSERT, SELECT ON ALL TABLES IN SCHEMA shard_0007 TO flake_app",
                "GRANT USAGE ON ALL SEQUENCES IN SCHEMA shard_0007 TO flake_app",
                "RESET ROLE");
    }

    @BeforeEach
    void connect() throws SQLException {
        app = postgres.database(0).connectAs("flake_app", "app");
    }

    @AfterEach
    void disconnect() throws SQLException {
        app.close();
    }

    @AfterAll
    static void dropRoles() throws SQLException {
        try (Connection superuser = postgres.database(0).connect()) {
            execute(
                    superuser,
                    "DROP OWNED BY flake_app, flake_schemas, \"flake-owner\" CASCADE",
                    "DROP ROLE flake_app, flake_schemas, \"flake-owner\"");
        }
    }

    @Test
    void whoMayNotLookAtASequenceIsToldWhetherItsShardIsOpen() throws SQLException {
        String ask = "SELECT shardflake.require_open('shard_0008.id_seq')";
        assertThat(queryLong(app, "SELECT has_sequence_privilege('shard_0008.id_seq', 'USAGE')::integer"))
                .isZero();
        try (Connection superuser = postgres.database(0).connect()) {
            assertThat(queryLong(app, ask)).isEqualTo(queryLong(superuser, ask));
            execute(superuser, "SELECT shardflake.fence_shard(8)");
            try {
                assertThatThrownBy(() -> queryLong(app, ask))
                        .isInstanceOfSatisfying(
                                PSQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("SF001"));
            } finally {
                execute(superuser, "SELECT shardflake.unfence_shard(8)");
            }
        }
    }

    @Test
    void applicationInsertsWithTheDefault() throws SQLException {
        long id = queryLong(app, "INSERT INTO shard_0007.photo (uid) VALUES (7) RETURNING id");
        long next = queryLong(app, "INSERT INTO shard_0007.photo (uid) VALUES (7) RETURNING id");

        assertThat(next).isGreaterThan(id);
        assertThat(queryLong(app, "SELECT shard_0007.next_id()") >> 10 & 8191).isEqualTo(7);
    }

    @Test
    void applicationReadsTheLayout() throws SQLException {
        assertThat(queryLong(app, "SELECT epoch_ms FROM shardflake.layout")).isEqualTo(1_735_689_600_000L);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SELECT setval('shard_0007.photo_id_seq', 1)",
                "ALTER SEQUENCE shard_0007.photo_id_seq RESTART",
                "CREATE OR REPLACE FUNCTION shardflake.clock_ms() RETURNS bigint LANGUAGE sql RETURN 0",
                "CREATE OR REPLACE FUNCTION shard_0007.next_id() RETURNS bigint LANGUAGE sql RETURN 0",
                "CREATE FUNCTION shardflake.mine() RETURNS bigint LANGUAGE sql RETURN 0",
                "UPDATE shardflake.layout SET epoch_ms = 0",
                "SELECT shardflake.create_shard(9)",
                "SELECT shardflake.drop_shard(7, true)",
                "SELECT shardflake.add_id_sequence('shard_0007.photo')",
                "SELECT shardflake.create_id_sequence('shard_0007', 'mine')",
                // Shard 8's sequence is not this role's to use.
                "SELECT shardflake.next_id(8)",
                "SELECT shardflake.draw_cold(8, 'shard_0008.id_seq')"
            })
    void applicationIsDenied(String sql) {
        assertSqlState(sql, DENIED);
    }

    @Test
    void roleThatOnlyReadsASequenceDrawsNoIds() throws SQLException {
        try (Connection superuser = postgres.database(0).connect()) {
            execute(superuser, "GRANT SELECT ON SEQUENCE shard_0008.id_seq TO flake_app");
        }

        assertSqlState("SELECT shardflake.next_id(8)", DENIED);
    }

    /** The definer's part cannot know who calls it, so nobody gets there but by the part that asks for the right. */
    @Test
    void definersPartCannotBeCalled() {
        assertSqlState("SELECT shardflake_internal.advance_sequence(7, 'shard_0007.id_seq')", DENIED);
        assertSqlState("SELECT shardflake_internal.advance_sequence(8, 'shard_0008.id_seq')", DENIED);
    }

    @Test
    void definersPartMovesNoFurtherThanTheClock() throws SQLException {
        String advance = "SELECT shardflake_internal.advance_sequence(8, 'shard_0008.id_seq')";
        try (Connection superuser = postgres.database(0).connect()) {
            for (int i = 0; i < 1000; i++) {
                Shards.queryString(superuser, advance);
            }
            assertThat(queryLong(
                            superuser, "SELECT pg_sequence_last_value('shard_0008.id_seq') - shardflake.now_ticks()"))
                    .as("ticks ahead of the clock")
                    .isLessThan(1024);
        }
    }

    @Test
    void definersPartRefusesSequencesOutsideShards() throws SQLException {
        try (Connection superuser = postgres.database(0).connect()) {
            execute(superuser, "CREATE SEQUENCE public.stray", "GRANT ALL ON SEQUENCE public.stray TO flake_app");
        }
        execute(app, "SELECT nextval('public.stray')");

        assertSqlState("SELECT shardflake.draw_cold(7, 'public.stray')", "22023");
    }

    /** As behind an API of functions: the caller may execute the function and nothing else. */
    @Test
    void callerOfADefinersFunctionNeedsNoGrantsOfItsOwn() throws SQLException {
        try (Connection superuser = postgres.database(0).connect()) {
            execute(
                    superuser,
                    "CREATE FUNCTION public.add_photo() RETURNS bigint LANGUAGE sql SECURITY DEFINER"
                            + " BEGIN ATOMIC INSERT INTO shard_0007.photo (uid) VALUES (7) RETURNING id; END",
                    "ALTER FUNCTION public.add_photo() OWNER TO flake_schemas",
                    "REVOKE INSERT ON shard_0007.photo FROM flake_app",
                    "REVOKE USAGE ON ALL SEQUENCES IN SCHEMA shard_0007 FROM flake_app");
        }
        try {
            assertThat(queryLong(app, "SELECT public.add_photo()")).isPositive();
        } finally {
            try (Connection superuser = postgres.database(0).connect()) {
                execute(
                        superuser,
                        "GRANT INSERT ON shard_0007.photo TO flake_app",
                        "GRANT USAGE ON ALL SEQUENCES IN SCHEMA shard_0007 TO flake_app");
            }
        }
    }

    @Test
    void hostileSearchPathChangesNothing() throws SQLException {
        try (Connection superuser = postgres.database(0).connect()) {
            execute(
                    superuser,
                    "CREATE SCHEMA hostile",
                    "CREATE FUNCTION hostile.nextval(regclass) RETURNS bigint LANGUAGE sql RETURN 1",
                    "CREATE FUNCTION hostile.pg_sequence_last_value(regclass) RETURNS bigint LANGUAGE sql RETURN 1",
                    "CREATE FUNCTION hostile.clock_timestamp() RETURNS timestamptz LANGUAGE sql RETURN now() - interval '9 years'",
                    "CREATE FUNCTION hostile.shift(bigint, integer) RETURNS bigint LANGUAGE sql RETURN 1",
                    "CREATE FUNCTION hostile.compare(bigint, bigint) RETURNS boolean LANGUAGE sql RETURN true",
                    "CREATE FUNCTION hostile.compare(integer, integer) RETURNS boolean LANGUAGE sql RETURN true",
                    "CREATE OPERATOR hostile.<< (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = hostile.shift)",
                    "CREATE OPERATOR hostile.>> (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = hostile.shift)",
                    "CREATE OPERATOR hostile.< (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.compare)",
                    "CREATE OPERATOR hostile.>= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.compare)",
                    "CREATE OPERATOR hostile.> (LEFTARG = integer, RIGHTARG = integer, FUNCTION = hostile.compare)",
                    "CREATE OPERATOR hostile.< (LEFTARG = integer, RIGHTARG = integer, FUNCTION = hostile.compare)",
                    "GRANT USAGE ON SCHEMA hostile TO flake_app");
        }
        execute(app, "SET search_path = hostile, shard_0007, pg_catalog");

        long now = System.currentTimeMillis();
        for (String call : new String[] {
            "shardflake.next_id(7)",
            "shard_0007.next_id()",
            "shardflake.next_id(7, 'shard_0007.photo_id_seq')",
            "next_ids FROM shardflake.next_ids(7, 'shard_0007.photo_id_seq', 1)"
        }) {
            long id = queryLong(app, "SELECT " + call);
            assertThat(id >> 10 & 8191).as(call).isEqualTo(7);
            assertThat((id >> 23) + 1_735_689_600_000L).as(call).isBetween(now - 1000, now + 60_000);
        }
        assertThat(queryLong(app, "SELECT shardflake.min_id('2026-01-01 00:00Z')"))
                .isEqualTo((1_767_225_600_000L - 1_735_689_600_000L) << 23);
        assertThat(queryLong(app, "SELECT shardflake.id_shard(11637205501278089)"))
                .isEqualTo(1341);
    }

    private void assertSqlState(String sql, String sqlState) {
        assertThatThrownBy(() -> execute(app, sql))
                .isInstanceOfSatisfying(
                        PSQLException.class,
                        e -> assertThat(e.getSQLState()).as(e.getMessage()).isEqualTo(sqlState));
    }
}
