/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryString;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.UnusualSettings;

/** Whatever an application's role has set, ids and fences work as ever, and what they say is the same. */
class SettingsTest {

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("photos", Shards::deployWithPhotos);

    /** What stops a session from working at all, or from writing, as whoever sets it wants. */
    private static final Set<String> MEANT = Set.of(
            "statement_timeout",
            "transaction_timeout",
            "idle_session_timeout",
            "idle_in_transaction_session_timeout",
            "lock_timeout",
            "tcp_user_timeout",
            "exit_on_error",
            "temp_file_limit",
            "temp_buffers", // so many that memory does not hold them
            "default_transaction_read_only",
            "session_replication_role", // no trigger fires, no fence among them
            "DateStyle"); // the driver ends a session that has another

    /** Each says the same whenever it is asked. */
    private static final List<String> QUESTIONS = List.of(
            "SELECT count(*) FROM shardflake.next_ids(7, 'shard_0007.photo_id_seq', 2000) id WHERE id >> 10 & 8191 = 7",
            "SELECT shardflake.next_id(7) >> 10 & 8191",
            "SELECT shard_0007.next_id('shard_0007.photo_id_seq'::regclass) >> 10 & 8191",
            "INSERT INTO shard_0007.photo DEFAULT VALUES RETURNING id >> 10 & 8191",
            "SELECT shardflake.require_open('shard_0007.id_seq') IS NOT NULL",
            "SELECT shardflake.id_to_base32(11637205501278089) || shardflake.id_to_shortcode(11637205501278089)",
            "SELECT shardflake.base32_to_id('00ABCDEFGHJKM') + shardflake.shortcode_to_id('BCD')",
            "SELECT shardflake.key_hash('Zürich') || ' ' || shardflake.min_id('2026-01-01 00:00:00+00')",
            "SELECT shardflake.id_timestamp(11637205501278089) = '2025-01-17 01:21:03+00'",
            "SELECT shardflake.id_to_public(11637205501278089, decode('000102030405060708090a0b0c0d0e0f', 'hex'))",
            "SELECT shardflake.create_shard(8)",
            "CREATE TABLE shard_0008.note (id bigint PRIMARY KEY, user_id bigint NOT NULL, kind text)",
            "SELECT shardflake.add_id_sequence('shard_0008.note') IS NOT NULL",
            "SELECT shardflake.add_check('shard_0008.note', 'user_id', 2000)",
            "SELECT shardflake.complete_tables(8)",
            "INSERT INTO shard_0008.note (user_id) VALUES (8) RETURNING id >> 10 & 8191",
            "INSERT INTO shard_0008.note (user_id) VALUES (9) RETURNING id",
            "SELECT pg_sleep(0.01)", // and the sequence lags the clock
            "SELECT shardflake.next_id(8, 'shard_0007.id_seq')",
            "SELECT shardflake.next_id(9)",
            "SELECT string_agg(sequence_name::text, ',') FROM shardflake.sequence_positions(8)",
            "SELECT shardflake.fence_shard(8)",
            "SELECT shardflake.is_fenced(8)",
            "INSERT INTO shard_0008.note (id, user_id) VALUES (8192, 8)",
            "SELECT shardflake.next_id(8)",
            "SELECT shardflake.require_open('shard_0008.id_seq')",
            "SELECT shardflake.unfence_shard(8)",
            "INSERT INTO shard_0008.note (user_id) VALUES (8) RETURNING id >> 10 & 8191",
            "SELECT shardflake.drop_shard(8, force => true)");

    @BeforeAll
    static void makeSchema() throws SQLException {
        try (Connection connection = postgres.database(0).connect()) {
            execute(connection, "CREATE SCHEMA hostile", "CREATE EXTENSION pgcrypto");
        }
    }

    private static List<String> answers(Map<String, String> settings) throws SQLException {
        List<String> answers = new ArrayList<>();
        try (Connection connection = postgres.database(0).connect()) {
            execute(connection, "LOAD 'plpgsql'");
            for (Map.Entry<String, String> setting : settings.entrySet()) {
                execute(connection, "SET " + setting.getKey() + " = " + setting.getValue());
            }
            for (String question : QUESTIONS) {
                answers.add(question + ": " + answer(connection, question));
            }
        }
        return answers;
    }

    private static String answer(Connection connection, String question) {
        try {
            return question.startsWith("CREATE") || (question.endsWith(")") && question.startsWith("INSERT"))
                    ? executed(connection, question)
                    : String.valueOf(queryString(connection, question)).replaceAll("^t$", "true");
        } catch (SQLException e) {
            return e.getSQLState();
        }
    }

    private static String executed(Connection connection, String statement) throws SQLException {
        execute(connection, statement);
        return "done";
    }

    @Test
    void whateverAnApplicationsSessionHasSetIdsAndFencesWorkAsEver() throws SQLException {
        List<String> usual = answers(Map.of());
        Map<String, String> small;
        Map<String, String> large;
        try (Connection connection = postgres.database(0).connect()) {
            small = settable(connection, UnusualSettings.small(connection));
            large = settable(connection, UnusualSettings.large(connection));
        }

        assertThat(small).hasSizeGreaterThan(100).containsKeys("quote_all_identifiers", "plpgsql.extra_errors");
        assertThat(answers(small)).isEqualTo(usual);
        assertThat(answers(large)).isEqualTo(usual);
    }

    /** Bodies are read with the session's settings, and {@code standard_conforming_strings} decides what a backslash is. */
    @Test
    void noBodyHasABackslash() throws SQLException {
        try (Connection connection = postgres.database(0).connect()) {
            assertThat(
                            queryString(
                                    connection,
                                    "SELECT string_agg(proname::text, ', ') FROM pg_proc WHERE pronamespace = 'shardflake'::regnamespace AND position(chr(92) IN prosrc) > 0"))
                    .isNull();
        }
    }

    private static Map<String, String> settable(Connection connection, Map<String, String> unusual)
            throws SQLException {
        Map<String, String> settable = new TreeMap<>(unusual);
        settable.keySet().removeAll(MEANT);
        settable.put("plpgsql.extra_errors", "'all'");
        settable.put("plpgsql.variable_conflict", "use_variable");
        settable.values().removeIf(value -> value.isEmpty());
        for (Map.Entry<String, String> setting : Map.copyOf(settable).entrySet()) {
            try {
                execute(connection, "SET " + setting.getKey() + " = " + setting.getValue());
            } catch (SQLException e) {
                settable.remove(setting.getKey()); // The limits of this machine are narrower.
            }
        }
        return settable;
    }
}
