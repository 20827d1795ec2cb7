/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.cluster.UnusualSettings;

/** A session of a command is the same, whatever its role and database have set. */
class SessionSettingsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    /** Values, names and conditions whose text or truth depends on a setting. */
    private static final String ANSWERS = """
            SELECT concat_ws(' | ', 0.1::float8 + 0.2, 1.1::float4, '2026-02-01 12:00+00'::timestamptz, '01/02/2026'::date, '1 day -1 hour'::interval,
                       '\\x00ff'::bytea, ARRAY['a', NULL], '{NULL}'::text[], '1.50'::money, xmlelement(name x, '\\x00ff'::bytea), quote_ident('plain'),
                       'pg_class'::regclass, NULL = NULL, 'a\\b', to_regclass('here'), current_user, current_schemas(true))
            """;

    private TestDatabase database;
    private String role;

    @BeforeEach
    void makeRoles() throws SQLException {
        database = postgres.database(0);
        role = "settings_" + database.name();
        asOwner("CREATE ROLE " + role + " LOGIN PASSWORD 's3cret'; CREATE ROLE " + role + "_other; GRANT " + role
                + "_other TO " + role + "; CREATE TABLE public.here (); GRANT CREATE ON SCHEMA public TO " + role);
    }

    @AfterEach
    void dropRoles() throws SQLException {
        for (String name : new String[] {role, role + "_other"}) {
            asOwner("DROP OWNED BY " + name + " CASCADE; DROP ROLE " + name);
        }
        asOwner("DROP TABLE public.here");
    }

    /** With nothing that a role or a database has set. */
    private void asOwner(String sql) throws SQLException {
        try (Connection connection = ServerUrl.parse(database.uri()).connect("a test");
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private ServerUrl url(String user, String options) {
        return ServerUrl.parse(
                database.uri(user, user.equals(role) ? "s3cret" : database.password())
                        + (options.isEmpty()
                                ? ""
                                : "?options="
                                        + URLEncoder.encode(options, StandardCharsets.UTF_8)
                                                .replace("+", "%20")),
                Map.of());
    }

    private static String answers(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void nothingThatARoleHasSetChangesAnswers(boolean isOwner) throws SQLException {
        String user = isOwner ? database.user() : role;
        String usual;
        Map<String, String> unusual;
        try (Connection connection = url(user, "").connect("a test")) {
            usual = answers(connection, ANSWERS);
            unusual = UnusualSettings.small(connection);
        }
        String to = "ROLE %s IN DATABASE %s".formatted(user, database.name());
        try {
            try (Connection connection = url(database.user(), "").connect("a test")) {
                unusual.put("role", role + "_other");
                assertThat(UnusualSettings.give(connection, to, unusual)).hasSizeGreaterThan(100);
            }
            try (Connection connection = url(user, "").connect("a test");
                    Statement statement = connection.createStatement()) {
                assertThat(answers(connection, ANSWERS)).isEqualTo(usual);
                statement.execute("CREATE TABLE public.made AS SELECT FROM pg_sleep(0.01)");
                statement.execute("DROP TABLE public.made");
                statement.execute(
                        "SET search_path = public; SET IntervalStyle = 'sql_standard'; SET statement_timeout = '1s'; RESET ALL");
                assertThat(answers(connection, ANSWERS)).isEqualTo(usual);
            }
        } finally {
            asOwner("ALTER " + to + " RESET ALL");
        }
    }

    @Test
    void aSessionOutlivesATimeLimitOfAMillisecond() throws SQLException {
        for (String limit : List.of("statement_timeout", "idle_session_timeout", "transaction_timeout")) {
            try {
                asOwner("ALTER ROLE %s SET %s = '1ms'".formatted(role, limit));
            } catch (SQLException e) {
                assertThat(e.getSQLState()).as(limit).isEqualTo("42704"); // before PostgreSQL 17
            }
        }
        try (Connection connection = url(role, "").connect("a test")) {
            assertThat(answers(connection, "SELECT 'waited' FROM pg_sleep(0.01)"))
                    .isEqualTo("waited");
        }
    }

    @Test
    void theUrlChoosesTheRoleAndWhatIsNotPinned() throws SQLException {
        asOwner("ALTER ROLE %s SET role = pg_monitor".formatted(role));
        try (Connection connection = url(role, "-c role=" + role + "_other -c work_mem=5MB -c search_path=public")
                .connect("a test")) {
            assertThat(answers(
                            connection,
                            "SELECT concat_ws(' ', current_user, current_setting('work_mem'), to_regclass('here'))"))
                    .isEqualTo(role + "_other 5MB");
        }
    }

    @Test
    void usersSqlFindsWhatTheirPathLeadsTo() throws SQLException {
        try (Connection connection = url(role, "").pinned("public").dataSource().getConnection()) {
            assertThat(answers(connection, "SELECT to_regclass('here')::text || current_setting('statement_timeout')"))
                    .isEqualTo("here0");
        }
        asOwner("ALTER ROLE %s SET search_path = \"$user\", public, missing".formatted(role));
        assertThat(url(role, "").searchPath()).containsExactly("pg_catalog", "public");
    }
}
