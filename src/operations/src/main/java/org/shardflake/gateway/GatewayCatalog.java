/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.gateway;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.List;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/** The catalog's table of gateways. */
final class GatewayCatalog {

    private final ServerUrl url;

    GatewayCatalog(ServerUrl url) {
        this.url = url;
    }

    private <T> T with(Sql.Query<T> work) {
        return Sql.translating(() -> Sql.with(url.connect("shardflake gateway"), work));
    }

    private static boolean isThere(Connection connection) throws SQLException {
        return Sql.isTrue(connection, "SELECT to_regclass('shardflake_catalog.gateway') IS NOT NULL");
    }

    /** All gateways; a catalog of an older version has none. */
    List<Gateway> all() {
        return with(connection -> isThere(connection)
                ? Sql.list(
                        connection,
                        "SELECT name, url, schema_name, reader, map_version, refreshed_at, EXISTS (SELECT FROM shardflake_catalog.history h WHERE h.change = 'shard placed' AND h.version > g.map_version), problem FROM shardflake_catalog.gateway g ORDER BY name",
                        row -> new Gateway(
                                row.getString(1),
                                row.getString(2),
                                row.getString(3),
                                row.getString(4),
                                row.getLong(5),
                                Optional.ofNullable(row.getTimestamp(6)).map(Timestamp::toInstant),
                                row.getBoolean(7),
                                Optional.ofNullable(row.getString(8))))
                : List.of());
    }

    /** Records a gateway before any of its objects are created. */
    void record(Gateway gateway) {
        with(connection -> {
            if (!isThere(connection)) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "the catalog is of an older version, which keeps no gateways",
                        Advice.of("bring it up to date with %s", CliCommand.UPGRADE),
                        null);
            }
            return Sql.update(
                    connection,
                    "INSERT INTO shardflake_catalog.gateway (name, url, schema_name, reader) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET url = excluded.url, reader = excluded.reader",
                    gateway.name(),
                    gateway.url(),
                    gateway.schema(),
                    gateway.reader());
        });
    }

    void refreshed(String name, long mapVersion) {
        with(connection -> Sql.update(
                connection,
                "UPDATE shardflake_catalog.gateway SET map_version = ?, refreshed_at = clock_timestamp(), problem = NULL WHERE name = ?",
                mapVersion,
                name));
    }

    void failed(String name, String problem) {
        with(connection -> Sql.update(
                connection, "UPDATE shardflake_catalog.gateway SET problem = ? WHERE name = ?", problem, name));
    }

    void forget(String name) {
        with(connection -> Sql.update(connection, "DELETE FROM shardflake_catalog.gateway WHERE name = ?", name));
    }
}
