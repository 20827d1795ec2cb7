/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Legal values that hardly anybody gives a server's settings, for tests of what must not depend on them.
 *
 * <p>Asks the server which settings a role or a database may have, so that a new version's are among them.
 */
public final class UnusualSettings {

    private static final String SETTINGS = """
            SELECT name, vartype, min_val, max_val, setting,
                   (SELECT %s(value) FROM unnest(enumvals) value WHERE value NOT IN (setting, boot_val))
              FROM pg_settings
             WHERE context IN ('user', 'superuser')
               AND (max_val IS NULL OR max_val <> min_val)
               AND name NOT IN ('transaction_isolation', 'transaction_read_only', 'transaction_deferrable', 'client_encoding', 'application_name')
            """;

    /** Values of settings that take a text, as written in SQL. Of others, no value is both legal everywhere and of any effect. */
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

    /** Each setting's name with a value as written in SQL: of numbers the least that has an effect, of words the first. */
    public static Map<String, String> small(Connection connection) throws SQLException {
        return read(connection, false);
    }

    /** Each setting's name with a value as written in SQL: of numbers the greatest, of words the last. */
    public static Map<String, String> large(Connection connection) throws SQLException {
        return read(connection, true);
    }

    /**
     * Gives settings to a role or a database, but those that this machine or another setting does not allow.
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

    private static Map<String, String> read(Connection connection, boolean large) throws SQLException {
        Map<String, String> values = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(SETTINGS.formatted(large ? "max" : "min"))) {
            while (rows.next()) {
                String value = value(rows, large);
                if (value != null) {
                    values.put(rows.getString("name"), value);
                }
            }
        }
        return values;
    }

    private static @Nullable String value(ResultSet row, boolean large) throws SQLException {
        String setting = row.getString("setting");
        if (row.getString("name").equals("transaction_timeout")) {
            return "'5s'"; // Parallel workers begin with it, however long they take until they have what their session
            // has.
        }
        return switch (row.getString("vartype")) {
            case "bool" -> setting.equals("on") ? "off" : "on";
            case "enum" -> row.getString(6) == null ? null : "'" + row.getString(6) + "'";
            case "string" -> TEXTS.get(row.getString("name"));
            case "integer" -> number(row.getString(large ? "max_val" : "min_val"), large ? "0" : "1");
            default -> "'" + row.getString(large ? "max_val" : "min_val") + "'";
        };
    }

    /** Numbers below 1 mostly say that there is no such limit. */
    private static String number(String bound, String instead) {
        return Long.parseLong(bound) < 1 ? instead : bound;
    }
}
