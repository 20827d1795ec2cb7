/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.gateway;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.server.SqlText;
import org.shardflake.sql.AdvisoryLock;

/** The database of a gateway: its tables, their parts, and the foreign servers. For one thread. */
final class GatewayDatabase {

    /**
     * Settings for the sessions that read shards, which postgres_fdw would leave to the server, database or role: an error where a policy would
     * hide rows, all rows of an index, and conditions with the same meaning as here. Time limits stay the reader's.
     */
    private static final String REMOTE_SETTINGS = Stream.of(
                    "row_security=off",
                    "gin_fuzzy_search_limit=0",
                    "array_nulls=on",
                    "transform_null_equals=off",
                    "standard_conforming_strings=on",
                    "backslash_quote=safe_encoding",
                    "xmloption=content",
                    "xmlbinary=base64",
                    "bytea_output=hex",
                    "timezone_abbreviations=Default",
                    "default_transaction_deferrable=off")
            .map("-c %s"::formatted)
            .collect(Collectors.joining(" "));

    private static final int OLDEST_VERSION = 150000;

    private static final String COMMENT = "Made by shardflake gateway %s; shardflake gateway drop removes it";

    /** Hides an error's context, which would contain the statement with its password and end up in the server's log. */
    private static final String WITHOUT_CONTEXT =
            "EXCEPTION WHEN OTHERS THEN RAISE EXCEPTION '%', SQLERRM USING ERRCODE = SQLSTATE;";

    /** Copies the user mappings of a foreign server on the server side, so that passwords reach neither us nor the statement log. */
    private static final String COPY_MAPPINGS = """
            DECLARE
                v_mapping record;
            BEGIN
                FOR v_mapping IN
                    SELECT umuser, usename, umoptions FROM pg_user_mappings WHERE srvname = %1$s
                       AND usename NOT IN (SELECT usename FROM pg_user_mappings WHERE srvname = %2$s)
                LOOP
                    IF v_mapping.umoptions IS NULL THEN
                        RAISE EXCEPTION 'this role may not see the user mappings of server %%', %1$s USING ERRCODE = 'insufficient_privilege';
                    END IF;
                    EXECUTE format('CREATE USER MAPPING FOR %%s SERVER %%I OPTIONS (%%s)',
                        CASE v_mapping.umuser WHEN 0 THEN 'PUBLIC' ELSE quote_ident(v_mapping.usename) END, %2$s,
                        (SELECT string_agg(format('%%I %%L', option_name, option_value), ', ') FROM pg_options_to_table(v_mapping.umoptions)));
                END LOOP;
            """ + WITHOUT_CONTEXT.replace("%", "%%") + " END";

    private final Connection connection;
    private final Gateway gateway;

    GatewayDatabase(Connection connection, Gateway gateway) {
        this.connection = connection;
        this.gateway = gateway;
    }

    static String foreignServer(Gateway gateway, String server) {
        return SqlText.shortened(gateway.schema() + "_" + server);
    }

    /** Waits for other commands that work on this gateway; the lock is held until the connection closes. */
    void lock(Duration patience) throws SQLException {
        Optional<String> holder = new AdvisoryLock("shardflake.gateway." + gateway.schema()).take(connection, patience);
        if (holder.isPresent()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "another command works on gateway %s: %s holds its lock".formatted(gateway.name(), holder.get()),
                    "wait for it to end",
                    null);
        }
    }

    /** @throws ShardflakeException if the database cannot be a gateway, or the schema is someone else's */
    void check() throws SQLException {
        if (Sql.number(connection, "SELECT current_setting('server_version_num')::integer") < OLDEST_VERSION) {
            throw new ShardflakeException(
                    Kind.PRECONDITION, "a gateway needs PostgreSQL 15 or later", "use a newer database for it", null);
        }
        if (Sql.isTrue(
                connection, "SELECT NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'postgres_fdw')")) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "the database has no extension postgres_fdw",
                    "install PostgreSQL's contrib modules there",
                    null);
        }
        for (String schema : List.of(gateway.schema(), gateway.partsSchema())) {
            if (Sql.isTrue(
                    connection,
                    "SELECT to_regnamespace(quote_ident(?)) IS NOT NULL AND obj_description(to_regnamespace(quote_ident(?)), 'pg_namespace') IS DISTINCT FROM ?",
                    schema,
                    schema,
                    COMMENT.formatted(gateway.name()))) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "the database has a schema %s that is not this gateway's".formatted(schema),
                        "choose another schema",
                        null);
            }
        }
    }

    /** The names of the existing parts of tables. */
    Set<String> parts() throws SQLException {
        return new HashSet<>(Sql.list(
                connection,
                "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(?)) AND relkind = 'f'",
                row -> row.getString(1),
                gateway.partsSchema()));
    }

    /** The state that a refresh creates. */
    record Wanted(ShardMap map, Map<String, ServerUrl> servers, List<ShardTable> tables, List<Part> parts) {}

    /**
     * The roles that may use the gateway, and their password.
     *
     * @param roles of the gateway's database, or PUBLIC; none for the one that makes it
     * @param password the reader's, or null if the gateway's host knows it
     */
    record Access(List<String> roles, @Nullable String password) {}

    /** Changes everything to the wanted state in one transaction; returns the number of changed parts. */
    int bring(Wanted wanted, @Nullable Access access, Duration patience) throws SQLException {
        int[] changed = {0};
        @Nullable SQLException[] inTheWay = {null};
        boolean done = Poll.everyMillis(200, patience).until(() -> {
            try {
                changed[0] = Sql.inTransaction(connection, () -> bring(wanted, access));
                return true;
            } catch (SQLException e) {
                if (!Sql.isInTheWay(e)) {
                    throw e;
                }
                inTheWay[0] = e;
                return false;
            }
        });
        if (!done) {
            throw new ShardflakeException(
                    Kind.FAILURE,
                    "queries or open transactions have kept the tables of gateway %s locked for %s s"
                            .formatted(gateway.name(), patience.toSeconds()),
                    Advice.of("end them, and run %s", CliCommand.GATEWAY_REFRESH.with(gateway.name())),
                    inTheWay[0]);
        }
        return changed[0];
    }

    private int bring(Wanted wanted, @Nullable Access access) throws SQLException {
        execute("SET LOCAL lock_timeout = '1s'");
        execute("CREATE EXTENSION IF NOT EXISTS postgres_fdw");
        for (String schema : List.of(gateway.schema(), gateway.partsSchema())) {
            execute("CREATE SCHEMA IF NOT EXISTS %s".formatted(SqlText.name(schema)));
            execute("COMMENT ON SCHEMA %s IS %s"
                    .formatted(SqlText.name(schema), SqlText.literal(COMMENT.formatted(gateway.name()))));
        }
        createFunctions(wanted.map());
        createServers(wanted.servers());
        if (access != null) {
            mapUsers(wanted.servers(), access);
        } else {
            copyMappings(wanted.servers());
        }
        int changed = bringTables(wanted);
        dropServers(wanted.servers());
        grant(wanted.tables());
        return changed;
    }

    /** Creates functions that compute the shard of a uid or an id, so that a query can skip the other parts. */
    private void createFunctions(ShardMap map) throws SQLException {
        String schema = SqlText.name(gateway.schema());
        int count = map.sharding().shardCount();
        execute(
                "CREATE OR REPLACE FUNCTION %s.shard_of_uid(uid bigint) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$SELECT (((uid %% %2$s) + %2$s) %% %2$s)::integer$$"
                        .formatted(schema, count));
        execute(
                "CREATE OR REPLACE FUNCTION %s.shard_of_id(id bigint) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$SELECT ((id >> 10) & 8191)::integer$$"
                        .formatted(schema));
    }

    private void createServers(Map<String, ServerUrl> servers) throws SQLException {
        Map<String, Map<String, String>> there = foreignServers();
        for (Map.Entry<String, ServerUrl> server : servers.entrySet()) {
            String name = foreignServer(gateway, server.getKey());
            Map<String, String> options = options(server.getValue());
            Map<String, String> has = there.get(name);
            if (has == null) {
                execute("CREATE SERVER %s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (%s)"
                        .formatted(SqlText.name(name), list(options, "")));
                execute("COMMENT ON SERVER %s IS %s"
                        .formatted(SqlText.name(name), SqlText.literal(COMMENT.formatted(gateway.name()))));
                continue;
            }
            Map<String, String> changes = new LinkedHashMap<>();
            options.forEach((option, value) -> {
                if (!value.equals(has.get(option))) {
                    changes.put((has.containsKey(option) ? "SET " : "ADD ") + option, value);
                }
            });
            if (!changes.isEmpty()) {
                execute("ALTER SERVER %s OPTIONS (%s)".formatted(SqlText.name(name), list(changes, "")));
            }
        }
    }

    private static Map<String, String> options(ServerUrl url) {
        Map<String, String> options = new TreeMap<>(url.libpqParameters());
        options.keySet().removeAll(Set.of("user", "password", "options"));
        options.put("async_capable", "true");
        options.put("fetch_size", "1000");
        options.put("updatable", "false");
        options.put("parallel_commit", "true");
        options.put("connect_timeout", "10");
        options.put("options", REMOTE_SETTINGS);
        return options;
    }

    private static String list(Map<String, String> options, String before) {
        return options.entrySet().stream()
                .map(option -> before + option.getKey() + " " + SqlText.literal(option.getValue()))
                .collect(Collectors.joining(", "));
    }

    /** The options of this gateway's foreign servers, by name. */
    private Map<String, Map<String, String>> foreignServers() throws SQLException {
        Map<String, Map<String, String>> servers = new HashMap<>();
        Sql.list(
                connection,
                "SELECT s.srvname, o.option_name, o.option_value FROM pg_foreign_server s, pg_options_to_table(s.srvoptions) o WHERE obj_description(s.oid, 'pg_foreign_server') = ?",
                row -> servers.computeIfAbsent(row.getString(1), name -> new HashMap<>())
                        .put(row.getString(2), String.valueOf(row.getString(3))),
                COMMENT.formatted(gateway.name()));
        return servers;
    }

    private void requireRoles(List<String> roles) throws SQLException {
        List<String> missing = Sql.list(
                connection,
                "SELECT name FROM unnest(?::text[]) name WHERE lower(name) <> 'public' AND name NOT IN (SELECT rolname FROM pg_roles)",
                row -> row.getString(1),
                connection.createArrayOf("text", roles.toArray()));
        if (!missing.isEmpty()) {
            throw new ShardflakeException(
                    Kind.USAGE,
                    "the gateway's database has no role %s".formatted(String.join(", ", missing)),
                    "create it, or name other roles",
                    null);
        }
    }

    /** A role as the grantee of a statement, since a role may be called PUBLIC in capitals. */
    private String grantee(String role) throws SQLException {
        boolean isEverybody = role.equalsIgnoreCase("public")
                && Sql.isTrue(connection, "SELECT NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ?)", role);
        return isEverybody ? "PUBLIC" : SqlText.name(role);
    }

    /** Maps users to the servers; the password does not appear in the text of a statement. */
    private void mapUsers(Map<String, ServerUrl> servers, Access access) throws SQLException {
        requireRoles(access.roles());
        boolean isSuperuser = Sql.isTrue(connection, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user");
        String password = access.password();
        Sql.call(connection, "SELECT set_config('shardflake.password', ?, true)", password == null ? "" : password);
        String options = password != null
                ? "format('user %L, password %L', " + SqlText.literal(gateway.reader())
                        + ", current_setting('shardflake.password'))"
                : "format('user %L" + (isSuperuser ? ", password_required ''false''" : "") + "', "
                        + SqlText.literal(gateway.reader()) + ")";
        List<String> roles =
                access.roles().isEmpty() ? List.of(Sql.text(connection, "SELECT current_user")) : access.roles();
        for (String server : servers.keySet()) {
            String named = SqlText.literal(foreignServer(gateway, server));
            for (String role : roles) {
                String who = grantee(role);
                run(
                        ("BEGIN EXECUTE format('DROP USER MAPPING IF EXISTS FOR %%s SERVER %%I', %1$s, %2$s); EXECUTE format('CREATE USER MAPPING FOR %%s SERVER %%I OPTIONS (%%s)', %1$s, %2$s, %3$s); "
                                        + WITHOUT_CONTEXT.replace("%", "%%") + " END")
                                .formatted(SqlText.literal(who), named, options));
            }
        }
        Sql.call(connection, "SELECT set_config('shardflake.password', '', true)");
        for (String role : roles) {
            String who = grantee(role);
            execute("GRANT USAGE ON SCHEMA %s TO %s".formatted(SqlText.name(gateway.schema()), who));
        }
    }

    /** Copies user mappings to servers that are new. */
    private void copyMappings(Map<String, ServerUrl> servers) throws SQLException {
        List<String> mapped = Sql.list(
                connection,
                "SELECT DISTINCT m.srvname FROM pg_user_mappings m JOIN pg_foreign_server s ON s.oid = m.srvid WHERE obj_description(s.oid, 'pg_foreign_server') = ? ORDER BY 1",
                row -> row.getString(1),
                COMMENT.formatted(gateway.name()));
        for (String server : servers.keySet()) {
            String name = foreignServer(gateway, server);
            if (!mapped.isEmpty() && !mapped.contains(name)) {
                run(COPY_MAPPINGS.formatted(SqlText.literal(mapped.get(0)), SqlText.literal(name)));
            }
        }
    }

    private int bringTables(Wanted wanted) throws SQLException {
        int changed = 0;
        Set<String> there = parts();
        Set<String> parts = wanted.parts().stream().map(Part::name).collect(Collectors.toSet());
        for (String part : there) {
            if (!parts.contains(part)) {
                execute("DROP FOREIGN TABLE %s.%s".formatted(SqlText.name(gateway.partsSchema()), SqlText.name(part)));
                changed++;
            }
        }
        Map<String, String> definitions = definitions();
        for (ShardTable table : wanted.tables()) {
            String definition = definitions.remove(table.name());
            if (!table.definition().equals(definition)) {
                if (definition != null) {
                    dropTable(table.name());
                }
                execute("CREATE TABLE %s.%s (%s) PARTITION BY LIST (%s)"
                        .formatted(
                                SqlText.name(gateway.schema()),
                                SqlText.name(table.name()),
                                table.definition(),
                                table.shardColumn()));
                execute("COMMENT ON TABLE %s.%s IS %s"
                        .formatted(
                                SqlText.name(gateway.schema()),
                                SqlText.name(table.name()),
                                SqlText.literal(table.definition())));
            }
        }
        for (String gone : definitions.keySet()) {
            dropTable(gone);
        }
        for (Part part : wanted.parts()) {
            if (!there.contains(part.name())) {
                execute(part.createForeignTable(gateway));
                changed++;
            }
        }
        return changed;
    }

    /** The existing tables, with the definitions that they were created from. */
    private Map<String, String> definitions() throws SQLException {
        Map<String, String> definitions = new TreeMap<>();
        Sql.list(
                connection,
                "SELECT relname, coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(?)) AND relkind = 'p'",
                row -> definitions.put(row.getString(1), row.getString(2)),
                gateway.schema());
        return definitions;
    }

    /** Drops a table, unless other objects, such as views, depend on it. */
    private void dropTable(String table) throws SQLException {
        try {
            execute("DROP TABLE %s.%s".formatted(SqlText.name(gateway.schema()), SqlText.name(table)));
        } catch (SQLException e) {
            if ("2BP01".equals(e.getSQLState())) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "table %s of the shards has changed, and other objects depend on that of the gateway: %s"
                                .formatted(table, Sql.message(e)),
                        Advice.of(
                                "drop those, run %s, and make them again",
                                CliCommand.GATEWAY_REFRESH.with(gateway.name())),
                        e);
            }
            throw e;
        }
    }

    private void dropServers(Map<String, ServerUrl> servers) throws SQLException {
        Set<String> wanted = servers.keySet().stream()
                .map(name -> foreignServer(gateway, name))
                .collect(Collectors.toSet());
        for (String name : foreignServers().keySet()) {
            if (!wanted.contains(name)) {
                execute("DROP SERVER %s CASCADE"
                        .formatted(SqlText.name(name))); // with its user mappings; no table is left
            }
        }
    }

    /** Lets everyone who may use the schema read its tables, and no one write to them. */
    private void grant(List<ShardTable> tables) throws SQLException {
        List<String> users = Sql.list(
                connection,
                "SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END FROM pg_namespace n, aclexplode(n.nspacl) a WHERE n.nspname = ? AND a.privilege_type = 'USAGE' AND a.grantee <> n.nspowner",
                row -> row.getString(1),
                gateway.schema());
        for (String user : users) {
            for (ShardTable table : tables) {
                execute("GRANT SELECT ON %s.%s TO %s"
                        .formatted(SqlText.name(gateway.schema()), SqlText.name(table.name()), user));
            }
        }
    }

    /** Removes all objects of the gateway. */
    void drop() throws SQLException {
        Sql.inTransaction(connection, () -> {
            execute("SET LOCAL lock_timeout = '5s'");
            execute("DROP SCHEMA IF EXISTS %s, %s CASCADE"
                    .formatted(SqlText.name(gateway.schema()), SqlText.name(gateway.partsSchema())));
            for (String server : foreignServers().keySet()) {
                execute("DROP SERVER %s CASCADE".formatted(SqlText.name(server)));
            }
            return gateway;
        });
    }

    /** Runs a PL/pgSQL block. */
    private void run(String block) throws SQLException {
        execute("DO " + SqlText.literal(block));
    }

    private void execute(String sql) throws SQLException {
        Sql.execute(connection, sql);
    }
}
