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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.postgresql.util.PSQLException;
import org.shardflake.cluster.PostgresExtension;

/** Every line of the tables in the guide's page on security: a role, what it tries, and what it gets. */
class AttacksTest {

    private static final Path PAGE = Path.of("../src/docs/guide/security.md");
    private static final Pattern LINE = Pattern.compile("\\| `(\\w+)` \\| `(.+)` \\| `(\\w+)` \\|");
    private static final String ROLES = "flake_app, flake_guest, flake_nobody, flake_planter, flake_schemas";

    /** What the library is made of, whoever would replace a part of it. */
    private static final String BODIES = """
            SELECT md5(string_agg(concat(p.oid, p.prosrc, pg_get_function_sqlbody(p.oid), p.proacl), ',' ORDER BY p.oid))
              FROM pg_proc p WHERE p.pronamespace::regnamespace::text ~ '^shard'""";

    record Attack(String role, String sql, String gets) {}

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1).prepare(AttacksTest::deploy);

    private static void deploy(Connection superuser) throws SQLException {
        execute(superuser, "DROP ROLE IF EXISTS " + ROLES);
        for (String role : ROLES.split(", ", -1)) {
            execute(superuser, "CREATE ROLE %s LOGIN PASSWORD 'secret'".formatted(role));
        }
        execute(
                superuser,
                "GRANT CREATE ON SCHEMA public TO flake_planter",
                "CREATE SCHEMA trap AUTHORIZATION flake_planter",
                "GRANT USAGE ON SCHEMA trap TO PUBLIC",
                "SET ROLE flake_planter");
        Traps.set(superuser, "public");
        Traps.set(superuser, "trap");
        execute(superuser, "RESET ROLE", "SET search_path = public");
        FunctionLibrary.deploy(superuser);
        execute(
                superuser,
                "RESET search_path",
                "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO flake_schemas', current_database()); END $$",
                "GRANT USAGE ON SCHEMA shardflake TO flake_schemas, flake_app, flake_guest, flake_planter",
                "GRANT EXECUTE ON FUNCTION shardflake.create_shard(integer), shardflake.add_id_sequence(regclass, name),"
                        + " shardflake.create_id_sequence(text, text), shardflake.add_fence(regclass),"
                        + " shardflake.is_fenced(integer) TO flake_schemas",
                "SET ROLE flake_schemas",
                "SELECT shardflake.create_shard(7), shardflake.create_shard(8)",
                "CREATE TABLE shard_0007.photo (id bigint PRIMARY KEY, uid bigint)",
                "SELECT shardflake.add_id_sequence('shard_0007.photo')",
                "CREATE TABLE shard_0007.counter (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)",
                "GRANT USAGE ON SCHEMA shard_0007, shard_0008 TO flake_app",
                "GRANT INSERT, SELECT ON shard_0007.photo TO flake_app",
                "GRANT USAGE ON ALL SEQUENCES IN SCHEMA shard_0007 TO flake_app",
                "RESET ROLE",
                "CREATE SEQUENCE public.own_seq",
                "ALTER SEQUENCE public.own_seq OWNER TO flake_app",
                "CREATE TABLE public.bodies AS " + BODIES);
    }

    @AfterAll
    static void dropRoles() throws SQLException {
        try (Connection superuser = postgres.database(0).connect()) {
            execute(superuser, "DROP OWNED BY " + ROLES + " CASCADE", "DROP ROLE " + ROLES);
        }
    }

    static List<Attack> attacks() throws IOException {
        return Files.readAllLines(PAGE).stream()
                .map(LINE::matcher)
                .filter(Matcher::matches)
                .map(line -> new Attack(line.group(1), line.group(2), line.group(3)))
                .toList();
    }

    @Test
    void everyLineOfThePageIsTried() throws IOException {
        long lines = Files.readAllLines(PAGE).stream()
                .filter(line -> line.startsWith("| `"))
                .count();

        assertThat(attacks()).hasSizeGreaterThan(40).hasSize((int) lines);
    }

    @ParameterizedTest
    @MethodSource("attacks")
    void getsWhatThePageSays(Attack attack) throws SQLException {
        try (Connection superuser = postgres.database(0).connect()) {
            long before = ids(superuser);
            try (Connection role = postgres.database(0).connectAs("flake_" + attack.role(), "secret")) {
                if (attack.gets().equals("works")) {
                    execute(role, attack.sql());
                } else {
                    assertThatThrownBy(() -> execute(role, attack.sql()))
                            .isInstanceOfSatisfying(
                                    PSQLException.class,
                                    e -> assertThat(e.getSQLState())
                                            .as(e.getMessage())
                                            .isEqualTo(attack.gets()));
                }
            }
            assertThat(ids(superuser)).as("the next id").isGreaterThan(before);
            assertThat(
                            queryLong(
                                    superuser,
                                    "SELECT abs(extract(epoch FROM clock_timestamp() - shardflake.id_timestamp(shardflake.next_id(7, 'shard_0007.photo_id_seq'))))::bigint"))
                    .as("seconds between the clock and an id")
                    .isLessThan(30);
            assertThat(queryString(superuser, BODIES)).isEqualTo(queryString(superuser, "SELECT * FROM public.bodies"));
            assertThat(queryString(superuser, "SELECT string_agg(what, ',') FROM public.fell_in"))
                    .as("what of the planter's was run")
                    .isNull();
        }
    }

    private static long ids(Connection superuser) throws SQLException {
        return queryLong(
                superuser, "SELECT least(shardflake.next_id(7), shardflake.next_id(7, 'shard_0007.photo_id_seq'))");
    }

    /** P6: advisory locks are anybody's. */
    @Test
    @Tag("full")
    void aStrangersLockDelaysAnIdByASecondAndIsNamed() throws SQLException {
        try (Connection superuser = postgres.database(0).connect();
                Connection stranger = postgres.database(0).connectAs("flake_nobody", "secret")) {
            execute(superuser, "SELECT shardflake.next_id(7, 'shard_0007.photo_id_seq')", "SELECT pg_sleep(0.05)");
            long key = queryLong(superuser, "SELECT shardflake.lock_key('shard_0007.photo_id_seq')");
            long pid = queryLong(stranger, "SELECT pg_backend_pid() FROM pg_advisory_lock(" + key + ")");

            for (String sql : List.of(
                    "SELECT shardflake.next_id(7, 'shard_0007.photo_id_seq')",
                    "SELECT shardflake.stop_ids('shard_0007.photo_id_seq')")) {
                assertThatThrownBy(() -> execute(superuser, sql)).isInstanceOfSatisfying(PSQLException.class, e -> {
                    assertThat(e.getSQLState()).isEqualTo("55P03");
                    assertThat(e.getServerErrorMessage().getDetail())
                            .isEqualTo("Held by process " + pid + " of flake_nobody.");
                });
            }
            assertThat(queryString(superuser, "SHOW lock_timeout")).isEqualTo("0");

            execute(stranger, "SELECT pg_advisory_unlock(" + key + ")");
            assertThat(queryLong(superuser, "SELECT shardflake.next_id(7, 'shard_0007.photo_id_seq')"))
                    .isPositive();
        }
    }
}
