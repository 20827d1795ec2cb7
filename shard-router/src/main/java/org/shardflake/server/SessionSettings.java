/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The settings of Shardflake's own sessions, which override those of the server, the database and the role.
 *
 * <p>They come with the login, so that they hold from the first statement on and {@code RESET} leads back to them. The
 * statement sets them once more, for poolers that take no settings with a login, and sets those that not every version has
 * or not every role may set. What changes neither an answer nor a guarantee stays as the operators want it: planning,
 * memory, logs, tablespaces.
 */
final class SessionSettings {

    /** The search path of our sessions: no schema in which others may create objects. */
    static final String PATH = "pg_catalog, pg_temp";

    /** Settings that every role may set. Before PostgreSQL 14, which an old database may be, the login is refused because of one of them. */
    private static final List<Setting> SETTINGS = List.of(
            // An error in place of rows that are left out.
            new Setting("row_security", "off"),
            new Setting("gin_fuzzy_search_limit", "0"),
            // Time limits are meant for the application.
            new Setting("statement_timeout", "0"),
            new Setting("lock_timeout", "0"),
            new Setting("idle_in_transaction_session_timeout", "0"),
            new Setting("idle_session_timeout", "0"),
            new Setting("tcp_user_timeout", "0"),
            new Setting("vacuum_cost_delay", "0"),
            // How transactions begin, and what their end means.
            new Setting("default_transaction_read_only", "off"),
            new Setting("default_transaction_isolation", "read committed"),
            new Setting("default_transaction_deferrable", "off"),
            new Setting("synchronous_commit", "on"),
            new Setting("exit_on_error", "off"),
            // Values as text.
            new Setting("DateStyle", "ISO, MDY"),
            new Setting("IntervalStyle", "postgres"),
            new Setting("TimeZone", "UTC"),
            new Setting("timezone_abbreviations", "Default"),
            new Setting("extra_float_digits", "1"),
            new Setting("bytea_output", "hex"),
            new Setting("xmlbinary", "base64"),
            new Setting("xmloption", "content"),
            new Setting("lc_monetary", "C"),
            new Setting("lc_numeric", "C"),
            new Setting("lc_time", "C"),
            new Setting("array_nulls", "on"),
            // SQL as text.
            new Setting("standard_conforming_strings", "on"),
            new Setting("backslash_quote", "safe_encoding"),
            new Setting("escape_string_warning", "on"),
            new Setting("quote_all_identifiers", "off"),
            new Setting("transform_null_equals", "off"),
            new Setting("check_function_bodies", "on"),
            new Setting("client_min_messages", "notice"));

    private static final Setting NO_TRANSACTION_TIMEOUT = new Setting("transaction_timeout", "0");

    /** Settings that only some versions have and every role may set. */
    private static final List<Setting> OF_SOME_VERSIONS = List.of(
            NO_TRANSACTION_TIMEOUT,
            new Setting("stats_fetch_consistency", "cache"),
            new Setting("restrict_nonsystem_relation_kind", ""),
            new Setting("createrole_self_grant", ""),
            // Each of them would start a process for every small question, and cutovers wait for answers.
            new Setting("debug_parallel_query", "off"),
            new Setting("force_parallel_mode", "off"));

    /** Settings that only some versions have, and that only superusers and roles with a grant may set. */
    private static final List<Setting> OF_SUPERUSERS = List.of(
            new Setting("session_replication_role", "origin"),
            new Setting("event_triggers", "on"),
            new Setting("allow_system_table_mods", "off"),
            new Setting("zero_damaged_pages", "off"),
            new Setting("ignore_checksum_failure", "off"),
            new Setting("lo_compat_privileges", "off"),
            new Setting("track_activities", "on"),
            new Setting("plpgsql.variable_conflict", "error"),
            new Setting("plpgsql.extra_errors", "none"),
            new Setting("plpgsql.extra_warnings", "none"),
            new Setting("plpgsql.check_asserts", "on"));

    /** The first statement of a session; each name has its schema, since others may have planted objects on the search path. */
    private static final String STATEMENT = """
            SELECT pg_catalog.pg_backend_pid(), pg_catalog.count(
                       CASE WHEN %s THEN
                           CASE WHEN pg_catalog.current_setting(name, true) OPERATOR(pg_catalog.<>) value THEN
                               CASE WHEN for_all THEN pg_catalog.set_config(name, value, false)
                                    WHEN %s THEN pg_catalog.set_config(name, value, false)
                               END
                           END
                       END)
              FROM (VALUES %s) setting (name, value, for_all)
            """;

    private static final Pattern ROLE = Pattern.compile("(?i)(?:-c\\s*|--)role=");

    private static final Setting NO_ROLE = new Setting("role", "none");

    private record Setting(String name, String value) {

        String option() {
            return "-c " + name + "=" + value.replace(" ", "\\ ");
        }

        String row(boolean isForAll) {
            return "('%s', '%s', %s)".formatted(name, value, isForAll);
        }
    }

    private SessionSettings() {}

    /**
     * The options to log in with.
     *
     * @param own options that the user gave: they choose the role, and what is not pinned
     * @param path the search_path
     * @param isTimed whether transactions are limited to so little time that the statement would be too late
     */
    static String options(@Nullable String own, String path, boolean isTimed) {
        return Stream.concat(
                        Stream.of(
                                NO_ROLE.option(),
                                own == null ? "" : own,
                                searchPath(path).option(),
                                isTimed ? NO_TRANSACTION_TIMEOUT.option() : ""),
                        SETTINGS.stream().map(Setting::option))
                .filter(option -> !option.isEmpty())
                .collect(Collectors.joining(" "));
    }

    /**
     * The options to log in without time limits, but otherwise with the settings of the server, the database and the role.
     *
     * @param own options that the user gave
     * @param isTimed as for {@link #options}
     */
    static String unlimited(@Nullable String own, boolean isTimed) {
        return Stream.concat(
                        Stream.of(own == null ? "" : own, isTimed ? NO_TRANSACTION_TIMEOUT.option() : ""),
                        SETTINGS.stream()
                                .filter(setting -> setting.name().endsWith("_timeout"))
                                .map(Setting::option))
                .filter(option -> !option.isEmpty())
                .collect(Collectors.joining(" "));
    }

    /**
     * The statement that applies the settings, and returns the process id of the session.
     *
     * @param process if it runs in another process, it changes nothing; null to change any
     * @param own options that the user gave
     * @param path the search_path
     * @param version of the server, as in 18
     */
    static String sql(@Nullable Integer process, @Nullable String own, String path, int version) {
        List<String> rows = new ArrayList<>();
        if (own == null || !ROLE.matcher(own).find()) {
            rows.add(NO_ROLE.row(true));
        }
        rows.add(searchPath(path).row(true));
        SETTINGS.forEach(setting -> rows.add(setting.row(true)));
        OF_SOME_VERSIONS.forEach(setting -> rows.add(setting.row(true)));
        OF_SUPERUSERS.forEach(setting -> rows.add(setting.row(false)));
        String condition = process == null ? "true" : "pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) " + process;
        String mightSet = version < 15
                ? "pg_catalog.current_setting('is_superuser') OPERATOR(pg_catalog.=) 'on'"
                : "pg_catalog.has_parameter_privilege(name, 'SET')";
        return STATEMENT.formatted(condition, mightSet, String.join(", ", rows));
    }

    private static Setting searchPath(String path) {
        return new Setting("search_path", path);
    }
}
