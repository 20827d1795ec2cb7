/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.SqlText;

/**
 * Statements that run with the rights of a table's owner and no others, since they may call what the owner has written.
 *
 * <p>After {@code SET ROLE} the functions that are called could go back to the role of the session. So the statement is the query of a
 * materialized view, which PostgreSQL itself runs as the view's owner, in a security-restricted operation: there nobody changes the role,
 * leaves a setting, a prepared statement or a trigger for later.
 */
final class AsOwner {

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
     * Runs a statement, all of whose names are qualified, in the connection's transaction.
     *
     * @param schema as in SQL; the owner may use it
     * @param owner as in SQL
     */
    static void run(Connection connection, String schema, String owner, String statement) throws SQLException {
        long process = Sql.number(connection, "SELECT pg_backend_pid()");
        String name = "%s.shardflake_as_owner_%s".formatted(schema, process);
        String body = "BEGIN " + statement + "; RETURN true; END";
        Sql.execute(connection, RUN.formatted(name, SqlText.literal(body), owner));
    }
}
