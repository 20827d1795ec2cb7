/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.grants;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Collectors;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.SqlText;

/**
 * Runs statements with exactly the rights of another role, since they may call functions that this role has written.
 *
 * <p>After {@code SET ROLE} the functions that are called could go back to the role of the session. So the statement is the query of a
 * materialized view, which PostgreSQL itself runs as the view's owner, in a security-restricted operation: there nobody changes the role,
 * leaves a setting, a prepared statement or a trigger for later.
 */
public final class AsOwner {

    private static final String RUN = """
            CREATE FUNCTION %1$s() RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS %2$s;
            ALTER FUNCTION %1$s() OWNER TO %3$s;
            CREATE MATERIALIZED VIEW %1$s AS SELECT %1$s() AS is_done WITH NO DATA;
            ALTER MATERIALIZED VIEW %1$s OWNER TO %3$s;
            REFRESH MATERIALIZED VIEW %1$s;
            DROP MATERIALIZED VIEW %1$s;
            DROP FUNCTION %1$s()
            """;

    private AsOwner() {}

    /**
     * Runs a statement in the connection's transaction; all names in it must be qualified.
     *
     * @param schema as in SQL; something is made in it, and dropped again
     * @param owner as in SQL
     */
    public static void run(Connection connection, String schema, String owner, String statement) throws SQLException {
        Sql.execute(connection, of(schema, name(connection), owner, statement));
    }

    /**
     * The SQL that runs statements as their owner. Each may be several in one text; a {@code search_path} that one of them sets is that of the
     * next.
     *
     * @param connection in whose transaction they will run
     */
    public static String sql(Connection connection, String owner, List<String> statements) throws SQLException {
        // Not a schema that they look at, nor one that the owner may not use.
        String name = name(connection);
        return "CREATE SCHEMA %1$s AUTHORIZATION %2$s;\n%3$s;\nDROP SCHEMA %1$s"
                .formatted(name, owner, of(name, name, owner, executing(statements)));
    }

    /**
     * The SQL that runs statements as their owner, for statements that do not inspect the schema, in which a function is created and dropped.
     */
    static String sql(Connection connection, String schema, String owner, List<String> statements) throws SQLException {
        return of(schema, name(connection), owner, executing(statements));
    }

    private static String executing(List<String> statements) {
        return statements.stream()
                .map(statement -> "EXECUTE " + SqlText.literal(statement))
                .collect(Collectors.joining("; "));
    }

    /** A name that no other session uses at the same time. */
    private static String name(Connection connection) throws SQLException {
        return "shardflake_as_owner_" + Sql.number(connection, "SELECT pg_backend_pid()");
    }

    private static String of(String schema, String name, String owner, String statement) {
        String body = "BEGIN " + statement + "; RETURN true; END";
        return RUN.formatted(schema + "." + name, SqlText.literal(body), owner);
    }
}
