/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.sql.InstallationIdentity;

/** Checks whether servers belong to an installation, and records the installation on them. */
final class ServerIdentities {

    private static final String SHARDS =
            "SELECT right(nspname, 4)::integer FROM pg_catalog.pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$'";

    private ServerIdentities() {}

    /**
     * Refuses a server that remembers another installation.
     *
     * @param own the installation's identity
     */
    static void requireOwn(Connection connection, String server, InstallationIdentity own) throws SQLException {
        Optional<InstallationIdentity> its = InstallationIdentity.ofServer(connection);
        if (its.isPresent() && !its.get().equals(own)) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "server %s belongs to another installation, %s; this one is %s. Nothing was changed"
                            .formatted(server, its.get(), own),
                    "give the URL of the server that you meant",
                    null);
        }
    }

    /** Refuses a server that has shards but remembers no installation: the shards may belong to one of an older version. */
    static void requireUnused(Connection connection, String server) throws SQLException {
        ShardSet shards = ShardSet.of(Sql.list(connection, SHARDS, row -> row.getInt(1)));
        if (!shards.isEmpty() && InstallationIdentity.ofServer(connection).isEmpty()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "server %s has %s, and does not remember to which installation it belongs. Nothing was changed"
                            .formatted(server, Plural.shards(shards)),
                    Advice.of(
                            "if it belongs to one, run %s with the catalog of that one; if to none, remove each such shard: SELECT shardflake.drop_shard(%s)",
                            CliCommand.UPGRADE, shards.stream().findFirst().orElseThrow()),
                    null);
        }
    }

    /**
     * Records the installation on a server, unless the server remembers one, or has shards that the map does not give it.
     *
     * @return whether it remembers this installation now
     */
    static boolean remember(Connection connection, String server, ShardMap map, InstallationIdentity own)
            throws SQLException {
        Optional<InstallationIdentity> its = InstallationIdentity.ofServer(connection);
        if (its.isPresent()) {
            return its.get().equals(own);
        }
        boolean mayRecord = Sql.isTrue(
                connection,
                "SELECT COALESCE(has_table_privilege(to_regclass('shardflake.installation'), 'INSERT'), false)");
        if (!mayRecord || !isAsTheMapSays(connection, server, map)) {
            return false;
        }
        own.recordOn(connection);
        return true;
    }

    /** Whether a server has only the shards that the map gives it; closed shards may be copies of a move, or remains of one. */
    private static boolean isAsTheMapSays(Connection connection, String server, ShardMap map) throws SQLException {
        for (int shard : Sql.list(connection, SHARDS, row -> row.getInt(1))) {
            boolean isOwn = shard < map.sharding().shardCount()
                    && map.server(shard).name().equals(server);
            if (!isOwn
                    && (shard >= map.sharding().shardCount()
                            || !Sql.isTrue(connection, "SELECT shardflake.is_fenced(?)", shard))) {
                return false;
            }
        }
        return true;
    }
}
