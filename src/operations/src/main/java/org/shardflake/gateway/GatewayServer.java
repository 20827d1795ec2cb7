/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.gateway;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.Sharding;
import org.shardflake.grants.RowSecurity;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.SqlText;

/** The objects of a gateway on one server that has shards. For one thread. */
final class GatewayServer {

    /**
     * Refuses to read a shard that is not open here, as judged by the snapshot that also reads the rows. So a query reads each shard where it
     * is open, or fails; it reads no copy, and none twice.
     */
    private static final String REQUIRE_OPEN = """
            CREATE OR REPLACE FUNCTION %1$s.require_open(shards integer[]) RETURNS boolean
                LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
            DECLARE
                v_closed integer := (SELECT min(p.shard) FROM shardflake.placement p WHERE p.shard = ANY (shards) AND NOT p.here);
            BEGIN
                IF v_closed IS NOT NULL THEN
                    RAISE EXCEPTION 'shard %% is not open on this server: it is moving, or has moved and the gateway has not followed', v_closed
                        USING ERRCODE = 'SF001', HINT = 'Run the query again; if that does not help, shardflake gateway status says why.';
                END IF;
                RETURN true;
            END
            $$;
            """;

    private final Connection connection;
    private final Gateway gateway;
    private final String schema;

    GatewayServer(Connection connection, Gateway gateway) {
        this.connection = connection;
        this.gateway = gateway;
        this.schema = SqlText.name(gateway.remoteSchema());
    }

    /** @throws ShardflakeException if the reader is not there, or may not read a table of a shard */
    void checkReader(String server, Part part) throws SQLException {
        String reader = gateway.reader();
        if (!Sql.isTrue(connection, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = ?)", reader)) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "%s has no role %s, with which the gateway would log in".formatted(server, reader),
                    "CREATE ROLE %1$s LOGIN PASSWORD '...'; GRANT pg_read_all_data TO %1$s"
                            .formatted(SqlText.name(reader)),
                    null);
        }
        String table = Sharding.schema(part.shards().get(0)) + "."
                + SqlText.name(part.table().name());
        if (!Sql.isTrue(
                connection,
                "SELECT coalesce(has_schema_privilege(?, ?, 'USAGE') AND has_table_privilege(?, to_regclass(?), 'SELECT'), true)",
                reader,
                Sharding.schema(part.shards().get(0)),
                reader,
                table)) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "role %s may not read %s on %s".formatted(reader, table, server),
                    "GRANT pg_read_all_data TO " + SqlText.name(reader),
                    null);
        }
        List<String> hidden = RowSecurity.hiddenFrom(connection, reader);
        if (!hidden.isEmpty()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "row-level security hides rows of %s on %s from role %s, so queries of the gateway would fail"
                            .formatted(RowSecurity.shown(hidden), server, reader),
                    "ALTER ROLE %s BYPASSRLS, which only a superuser can, or choose another reader"
                            .formatted(SqlText.name(reader)),
                    null);
        }
    }

    /** Creates the missing views, in one transaction. */
    void create(List<Part> parts) throws SQLException {
        StringBuilder sql =
                new StringBuilder("SET LOCAL check_function_bodies = off; SET LOCAL lock_timeout = '5s';\n");
        sql.append("CREATE SCHEMA IF NOT EXISTS %s;\n".formatted(schema));
        sql.append("GRANT USAGE ON SCHEMA %s TO %s;\n".formatted(schema, SqlText.name(gateway.reader())));
        sql.append(REQUIRE_OPEN.formatted(schema));
        Set<String> there = new HashSet<>(views());
        for (Part part : parts) {
            if (!there.contains(part.name())) {
                sql.append(part.createView(gateway.remoteSchema()));
            }
            sql.append("GRANT SELECT ON %s.%s TO %s;\n"
                    .formatted(schema, SqlText.name(part.name()), SqlText.name(gateway.reader())));
        }
        Sql.inTransaction(connection, () -> {
            Sql.execute(connection, sql.toString());
            return parts;
        });
    }

    private List<String> views() throws SQLException {
        return Sql.list(
                connection,
                "SELECT viewname FROM pg_views WHERE schemaname = ?",
                row -> row.getString(1),
                gateway.remoteSchema());
    }

    /** Drops unused views; those that queries still lock stay until the next refresh. */
    void dropOthers(Set<String> used) throws SQLException {
        List<String> others = new ArrayList<>(views());
        others.removeAll(used);
        for (String other : others) {
            String named = schema + "." + SqlText.name(other);
            try {
                Sql.execute(
                        connection,
                        "BEGIN; SET LOCAL lock_timeout = '100ms'; DROP VIEW %1$s; DROP FUNCTION %1$s(); COMMIT"
                                .formatted(named));
            } catch (SQLException e) {
                try {
                    Sql.execute(connection, "ROLLBACK");
                } catch (SQLException later) {
                    e.addSuppressed(later);
                    throw e;
                }
                if (!Sql.isInTheWay(e)) {
                    throw e;
                }
            }
        }
    }

    void drop() throws SQLException {
        Sql.execute(connection, "DROP SCHEMA IF EXISTS %s CASCADE".formatted(schema));
    }
}
