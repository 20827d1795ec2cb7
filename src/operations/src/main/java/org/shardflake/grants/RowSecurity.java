/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.grants;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;

/**
 * Finds tables of shards, and reference tables, whose row-level security hides rows from a role. Sessions of commands get an error in place of
 * fewer rows; what is asked here says so before the work begins, and names the tables.
 */
public final class RowSecurity {

    private static final String TABLES = """
              FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind IN ('r', 'p') AND c.relrowsecurity AND n.nspname ~ '^(shard_[0-9]{4}|reference)$'
            """;

    private static final String IN_SESSION = "SELECT format('%I.%I', n.nspname, c.relname)" + TABLES
            + " AND row_security_active(c.oid) AND n.nspname = ANY (COALESCE(?::text[], ARRAY[n.nspname::text])) ORDER BY 1";

    /** Evaluates row_security_active in a session of another role. */
    private static final String FROM_ROLE = "SELECT format('%I.%I', n.nspname, c.relname)" + TABLES + """
               AND EXISTS (SELECT FROM pg_roles r WHERE r.rolname = ? AND NOT r.rolsuper AND NOT r.rolbypassrls
                              AND (c.relforcerowsecurity OR NOT pg_has_role(r.oid, c.relowner, 'USAGE')))
             ORDER BY 1
            """;

    private static final String POLICIES =
            "SELECT format('%I.%I', n.nspname, c.relname), pg_get_userbyid(c.relowner), c.relforcerowsecurity" + TABLES
                    + " AND n.nspname = ANY (?)";

    private static final String WOULD_BE_HIDDEN = """
            SELECT t.name FROM unnest(?::text[], ?::text[], ?::boolean[]) t (name, owner, forced) JOIN pg_roles o ON o.rolname = t.owner, pg_roles r
             WHERE r.rolname = current_user AND NOT r.rolsuper AND NOT r.rolbypassrls
               AND (t.forced OR NOT pg_has_role(r.oid, o.oid, 'USAGE'))
             ORDER BY 1
            """;

    private static final String HIDDEN_FROM_OWNER = """
            SELECT t.name FROM unnest(?::text[], ?::text[], ?::boolean[]) t (name, owner, forced) JOIN pg_roles o ON o.rolname = t.owner
             WHERE t.forced AND NOT o.rolsuper AND NOT o.rolbypassrls ORDER BY 1
            """;

    private RowSecurity() {}

    /** The tables whose rows this session does not see in full. */
    public static List<String> hidden(Connection connection) throws SQLException {
        return Sql.list(connection, IN_SESSION, row -> row.getString(1), (Object) null);
    }

    /** The tables of these shards, and the reference tables, whose rows this session does not see in full. */
    public static List<String> hidden(Connection connection, ShardSet shards) throws SQLException {
        return Sql.list(connection, IN_SESSION, row -> row.getString(1), shards);
    }

    /** The tables whose rows a session of another role would not see in full. */
    public static List<String> hiddenFrom(Connection connection, String role) throws SQLException {
        return Sql.list(connection, FROM_ROLE, row -> row.getString(1), role);
    }

    /** The first of the tables, and the number of further ones. */
    public static String shown(List<String> tables) {
        return String.join(", ", tables.subList(0, Math.min(3, tables.size())))
                + (tables.size() > 3 ? String.format(Locale.ROOT, " and %,d more", tables.size() - 3) : "");
    }

    /** The tables of shards with row-level security, as they will be on another server. */
    public static Carried carried(Connection source, ShardSet shards) throws SQLException {
        return new Carried(Sql.list(
                source, POLICIES, row -> new Table(row.getString(1), row.getString(2), row.getBoolean(3)), shards));
    }

    private record Table(String name, String owner, boolean isForced) {}

    /** Tables that a move brings with their policies. */
    public static final class Carried {

        private final List<Table> tables;

        private Carried(List<Table> tables) {
            this.tables = tables;
        }

        /** The tables whose rows this session would not see in full once they are on this server. */
        public List<String> hidden(Connection connection) throws SQLException {
            return ask(connection, WOULD_BE_HIDDEN);
        }

        /** The tables whose rows their owner on this server would not see in full. */
        public List<String> hiddenFromOwner(Connection connection) throws SQLException {
            return ask(connection, HIDDEN_FROM_OWNER);
        }

        private List<String> ask(Connection connection, String sql) throws SQLException {
            return tables.isEmpty()
                    ? List.of()
                    : Sql.list(
                            connection,
                            sql,
                            row -> row.getString(1),
                            connection.createArrayOf(
                                    "text", tables.stream().map(Table::name).toArray()),
                            connection.createArrayOf(
                                    "text", tables.stream().map(Table::owner).toArray()),
                            connection.createArrayOf(
                                    "boolean",
                                    tables.stream().map(Table::isForced).toArray()));
        }
    }
}
