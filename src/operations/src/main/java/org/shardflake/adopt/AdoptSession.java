/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.OpenAdoptions;
import org.shardflake.server.ServerUrl;

/**
 * Connections to the old database and to all servers that have shards. For one thread, which works on one table at a time.
 *
 * @param searchPath where names of tables without a schema are looked up
 * @param database the old database, without a password
 */
record AdoptSession(
        Connection old,
        List<String> searchPath,
        String database,
        UUID installation,
        OpenAdoptions open,
        ShardMap map,
        Map<Server, Connection> servers)
        implements AutoCloseable {

    /** The oldest PostgreSQL version that a table can be adopted from. */
    private static final int OLDEST_VERSION = 12;

    /** Tables of an adoption that this role may not even read. */
    private static final String NOT_READABLE = """
            SELECT format('%s belongs to role %I, which began an adoption, and not to %I', c.oid::regclass, r.rolname, current_user),
                   CASE WHEN r.rolsuper THEN '' ELSE format('GRANT %I TO %I, or ', r.rolname, current_user) END || 'log in as that role'
              FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner
             WHERE c.relnamespace = to_regnamespace('shardflake_adopt') AND c.relkind = 'r'
               AND NOT pg_has_role(c.relowner, 'USAGE') AND NOT has_table_privilege(c.oid, 'SELECT')
             ORDER BY c.oid LIMIT 1
            """;

    static AdoptSession open(ServerUrl oldDatabase, ServerUrl catalog, ShardMap map, Function<Server, ServerUrl> urls)
            throws SQLException {
        Map<Server, Connection> servers = new LinkedHashMap<>();
        Connection old = connect(oldDatabase);
        try {
            int version = old.getMetaData().getDatabaseMajorVersion();
            if (version < OLDEST_VERSION) {
                throw new AdoptRefusedException(
                        "the old database is of PostgreSQL %s".formatted(version),
                        "upgrade it to %s or later first".formatted(OLDEST_VERSION));
            }
            requireReadable(old);
            for (Server server : map.servers()) {
                if (!map.shards(server).isEmpty()) {
                    servers.put(server, connect(urls.apply(server)));
                }
            }
            return new AdoptSession(
                    old,
                    oldDatabase.searchPath(),
                    oldDatabase.toString(),
                    ShardCatalog.at(catalog).installation(),
                    new OpenAdoptions(catalog),
                    map,
                    servers);
        } catch (SQLException | RuntimeException e) {
            servers.values().forEach(Sql::close);
            old.close();
            throw e;
        }
    }

    /** Checks that the role can read about adoptions in the old database, which another role may have begun. */
    static void requireReadable(Connection old) throws SQLException {
        for (AdoptRefusedException refusal :
                Sql.list(old, NOT_READABLE, row -> new AdoptRefusedException(row.getString(1), row.getString(2)))) {
            throw refusal;
        }
    }

    private static Connection connect(ServerUrl url) throws SQLException {
        return url.connect("shardflake adopt");
    }

    @Override
    public void close() {
        servers.values().forEach(Sql::close);
        Sql.close(old);
    }
}
