/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntUnaryOperator;
import java.util.stream.Stream;

/**
 * Legal but rare values of server settings, for tests of code that must not depend on them.
 *
 * <p>Asks the server which settings a role or a database may have, so that a new version's are among them.
 */
public final class UnusualSettings {

    private static final String SETTINGS = """
            SELECT name, vartype, min_val, max_val, setting,
                   (SELECT array_agg(value ORDER BY value) FROM unnest(enumvals) value WHERE value NOT IN (setting, boot_val))
              FROM pg_settings
             WHERE context IN ('user', 'superuser')
               AND (max_val IS NULL OR max_val <> min_val)
               AND name NOT IN ('transaction_isolation', 'transaction_read_only', 'transaction_deferrable', 'client_encoding', 'application_name')
            """;

    /** Values of the settings that take a text, as written in SQL. Of others, no value is both legal everywhere and of any effect. */
    private static final Map<String, String> TEXTS = Map.of(
            "search_path", "hostile, public",
            "DateStyle", "'German, DMY'",
            "TimeZone", "'Pacific/Chatham'",
            "timezone_abbreviations", "'Australia'",
            "default_text_search_config", "'pg_catalog.simple'",
            "createrole_self_grant", "'set, inherit'",
            "restrict_nonsystem_relation_kind", "'view, foreign-table'",
            "default_tablespace", "'missing'",
            "temp_tablespaces", "''",
            "lc_monetary", "'C'");

    private UnusualSettings() {}

    /** Names of settings with values as written in SQL: the smallest number that has an effect, or the first word. */
    public static Map<String, String> small(Connection connection) throws SQLException {
        return read(connection, values -> 0);
    }

    /** Names of settings with values as written in SQL: the greatest number, or the last word. */
    public static Map<String, String> large(Connection connection) throws SQLException {
        return read(connection, values -> values - 1);
    }

    /** Names of settings with random values between those of {@link #small} and {@link #large}; a quarter of the settings is left out. */
    public static Map<String, String> random(Connection connection, Random random) throws SQLException {
        Map<String, String> values = read(connection, random::nextInt);
        values.values().removeIf(value -> random.nextInt(4) == 0);
        return values;
    }

    /**
     * Sets values for a role or a database, except those that this machine or another setting does not allow.
     *
     * @param to as ALTER has it: {@code ROLE name}, {@code DATABASE name}, {@code ROLE name IN DATABASE name}
     * @return the names of those that were given
     */
    public static Set<String> give(Connection connection, String to, Map<String, String> values) throws SQLException {
        Set<String> given = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        try (Statement statement = connection.createStatement()) {
            for (Map.Entry<String, String> setting : values.entrySet()) {
                try {
                    statement.execute("ALTER %s SET %s = %s".formatted(to, setting.getKey(), setting.getValue()));
                    given.add(setting.getKey());
                } catch (SQLException e) {
                    if (!"22023".equals(e.getSQLState())) { // an invalid value
                        throw e;
                    }
                }
            }
        }
        return given;
    }

    private static Map<String, String> read(Connection connection, IntUnaryOperator choice) throws SQLException {
        Map<String, String> values = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(SETTINGS)) {
            while (rows.next()) {
                List<String> possible = values(rows);
                if (!possible.isEmpty()) {
                    values.put(rows.getString("name"), possible.get(choice.applyAsInt(possible.size())));
                }
            }
        }
        return values;
    }

    /** The values of a setting, from the smallest to the greatest. */
    private static List<String> values(ResultSet row) throws SQLException {
        String name = row.getString("name");
        if (name.equals("transaction_timeout")) {
            // Parallel workers begin with it, however long they take until they have what their session has.
            return List.of("'5s'");
        }
        return switch (row.getString("vartype")) {
            case "bool" -> List.of(row.getString("setting").equals("on") ? "off" : "on");
            case "enum" -> words(row);
            case "string" -> Stream.ofNullable(TEXTS.get(name)).toList();
            case "integer" -> List.of(number(row.getString("min_val"), "1"), number(row.getString("max_val"), "0"));
            default -> List.of("'" + row.getString("min_val") + "'", "'" + finite(row.getString("max_val")) + "'");
        };
    }

    /** Replaces bounds at which plans cost infinitely much, since PostgreSQL 15 then fails to plan its own replication queries. */
    private static String finite(String bound) {
        return Double.parseDouble(bound) > 1e300 ? "1e300" : bound;
    }

    private static List<String> words(ResultSet row) throws SQLException {
        List<String> words = new ArrayList<>();
        if (row.getArray(6) != null) {
            for (String word : (String[]) row.getArray(6).getArray()) {
                words.add("'" + word + "'");
            }
        }
        return words;
    }

    /** A bound as text; numbers below 1 usually mean that there is no limit. */
    private static String number(String bound, String instead) {
        return Long.parseLong(bound) < 1 ? instead : bound;
    }
}
