/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.stream.IntStream;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.Sharding;

/** Reads and writes the tables of schema {@code shardflake_catalog}, inside the caller's transaction. */
final class CatalogTables {

    private static final String INSERT_SHARDS = """
            INSERT INTO shardflake_catalog.shard (shard, server, epoch)
            SELECT * FROM unnest(?::int[], ?::text[], ?::bigint[])
            """;

    private CatalogTables() {}

    static boolean isInitialized(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT 1 FROM shardflake_catalog.installation")) {
            return row.next();
        }
    }

    static long readVersion(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT version FROM shardflake_catalog.installation")) {
            if (!row.next()) {
                throw CatalogMissingException.noMap();
            }
            return row.getLong(1);
        }
    }

    static MapRevision readRevision(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row =
                        statement.executeQuery("SELECT version, changed_at FROM shardflake_catalog.installation")) {
            if (!row.next()) {
                throw CatalogMissingException.noMap();
            }
            return new MapRevision(
                    row.getLong(1), row.getObject(2, OffsetDateTime.class).toInstant());
        }
    }

    static UUID readInstallation(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT id FROM shardflake_catalog.installation")) {
            if (!row.next()) {
                throw CatalogMissingException.noMap();
            }
            return row.getObject(1, UUID.class);
        }
    }

    /** Locks the catalog against other changes until this transaction ends. */
    static void lock(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SELECT 1 FROM shardflake_catalog.installation FOR UPDATE");
        }
    }

    static ShardMap readMap(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            Sharding sharding;
            IdLayout layout;
            long version;
            try (ResultSet row = statement.executeQuery(
                    "SELECT shard_count, epoch_ms, version FROM shardflake_catalog.installation")) {
                if (!row.next()) {
                    throw CatalogMissingException.noMap();
                }
                sharding = new Sharding(row.getInt(1));
                layout = new IdLayout(row.getLong(2));
                version = row.getLong(3);
            }
            Map<String, Server> servers = readServers(statement);
            ShardPlacement[] placements = readPlacements(statement, servers, sharding);
            return ShardMap.of(version, sharding, layout, List.copyOf(servers.values()), shard -> placements[shard]);
        }
    }

    private static Map<String, Server> readServers(Statement statement) throws SQLException {
        Map<String, Server> servers = new LinkedHashMap<>();
        Map<String, Map<String, String>> labels = new HashMap<>();
        // A row for each label. An older catalog has no application_url.
        try (ResultSet row = statement.executeQuery("""
                SELECT name, url, pg_catalog.to_jsonb(server) OPERATOR(pg_catalog.->>) 'application_url', label.key, label.value
                  FROM shardflake_catalog.server LEFT JOIN LATERAL pg_catalog.jsonb_each_text(labels) label ON true
                 ORDER BY name
                """)) {
            while (row.next()) {
                String name = row.getString(1);
                labels.putIfAbsent(name, new HashMap<>());
                Map<String, String> its = labels.get(name);
                if (row.getString(4) != null) {
                    its.put(row.getString(4), row.getString(5));
                }
                servers.put(name, new Server(name, row.getString(2), Optional.ofNullable(row.getString(3)), its));
            }
        }
        return servers;
    }

    private static ShardPlacement[] readPlacements(Statement statement, Map<String, Server> servers, Sharding sharding)
            throws SQLException {
        ShardPlacement[] placements = new ShardPlacement[sharding.shardCount()];
        // One row for each server, since a starting application takes longer to read thousands of rows than one text.
        try (ResultSet row = statement.executeQuery(
                "SELECT server, pg_catalog.string_agg(pg_catalog.concat(shard, ':', epoch, ';'), '') FROM shardflake_catalog.shard GROUP BY server")) {
            while (row.next()) {
                Server server = servers.get(row.getString(1));
                if (server == null) {
                    throw new IllegalStateException("the catalog's foreign key from shard to server does not hold");
                }
                place(server, row.getString(2), placements);
            }
        }
        return placements;
    }

    /** @param epochs shards and their epochs: {@code 7:1;8:3;} */
    private static void place(Server server, String epochs, ShardPlacement[] placements) {
        int shard = 0;
        long number = 0;
        for (int i = 0; i < epochs.length(); i++) {
            char c = epochs.charAt(i);
            if (c == ':') {
                shard = (int) number;
                number = 0;
            } else if (c == ';') {
                placements[shard] = new ShardPlacement(shard, server, number);
                number = 0;
            } else {
                number = 10 * number + c - '0';
            }
        }
    }

    static void insertMap(Connection connection, ShardMap map) throws SQLException {
        for (Server server : map.servers()) {
            insertServer(connection, server);
        }
        try (PreparedStatement installation = connection.prepareStatement(
                "INSERT INTO shardflake_catalog.installation (shard_count, epoch_ms) VALUES (?, ?)")) {
            installation.setInt(1, map.sharding().shardCount());
            installation.setLong(2, map.layout().epochMillis());
            installation.execute();
        }
        List<ShardPlacement> placements = IntStream.range(0, map.sharding().shardCount())
                .mapToObj(map::placement)
                .toList();
        try (PreparedStatement shards = connection.prepareStatement(INSERT_SHARDS)) {
            setPlacements(connection, shards, placements);
            shards.execute();
        }
    }

    private static void setPlacements(
            Connection connection, PreparedStatement statement, List<ShardPlacement> placements) throws SQLException {
        statement.setArray(
                1,
                connection.createArrayOf(
                        "int4", placements.stream().map(ShardPlacement::shard).toArray()));
        statement.setArray(
                2,
                connection.createArrayOf(
                        "text",
                        placements.stream()
                                .map(placement -> placement.server().name())
                                .toArray()));
        statement.setArray(
                3,
                connection.createArrayOf(
                        "int8", placements.stream().map(ShardPlacement::epoch).toArray()));
    }

    static void insertServer(Connection connection, Server server) throws SQLException {
        writeServer(
                connection,
                server,
                "INSERT INTO shardflake_catalog.server (url, labels, application_url, name) VALUES (?, jsonb_object(?, ?), ?, ?)",
                "INSERT INTO shardflake_catalog.server (url, labels, name) VALUES (?, jsonb_object(?, ?), ?)");
    }

    static void updateServer(Connection connection, Server server) throws SQLException {
        writeServer(
                connection,
                server,
                "UPDATE shardflake_catalog.server SET url = ?, labels = jsonb_object(?, ?), application_url = ? WHERE name = ?",
                "UPDATE shardflake_catalog.server SET url = ?, labels = jsonb_object(?, ?) WHERE name = ?");
    }

    /** @param olderSql for a catalog of version 1, which has no application_url */
    private static void writeServer(Connection connection, Server server, String sql, String olderSql)
            throws SQLException {
        requireKeeps(connection, server);
        boolean isOlder = !keepsApplicationUrls(connection);
        try (PreparedStatement statement = connection.prepareStatement(isOlder ? olderSql : sql)) {
            statement.setString(1, server.url());
            statement.setArray(
                    2, connection.createArrayOf("text", server.labels().keySet().toArray()));
            statement.setArray(
                    3, connection.createArrayOf("text", server.labels().values().toArray()));
            if (!isOlder) {
                statement.setString(4, server.applicationUrl().orElse(null));
            }
            statement.setString(isOlder ? 4 : 5, server.name());
            statement.execute();
        }
    }

    static void requireKeeps(Connection connection, Server server) throws SQLException {
        if (server.applicationUrl().isPresent() && !keepsApplicationUrls(connection)) {
            throw new ShardflakeException(
                    ShardflakeException.Kind.PRECONDITION,
                    "the catalog is of an older version, which keeps no application URL, as server %s has"
                            .formatted(server.name()),
                    Advice.of("bring it up to date with %s", CliCommand.UPGRADE),
                    null);
        }
    }

    private static boolean keepsApplicationUrls(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("""
                        SELECT EXISTS (SELECT FROM pg_attribute
                                        WHERE attrelid = 'shardflake_catalog.server'::regclass AND attname = 'application_url')
                        """)) {
            return row.next() && row.getBoolean(1);
        }
    }

    static void deleteServer(Connection connection, String server) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement("DELETE FROM shardflake_catalog.server WHERE name = ?")) {
            statement.setString(1, server);
            statement.execute();
        }
    }

    static void placeShards(Connection connection, ShardSet shards, String server) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(
                "UPDATE shardflake_catalog.shard SET server = ? WHERE shard = ANY (?) AND server <> ?")) {
            statement.setString(1, server);
            statement.setArray(
                    2, connection.createArrayOf("int4", shards.stream().boxed().toArray()));
            statement.setString(3, server);
            statement.execute();
        }
    }

    /** Places a shard on a server if the shard's epoch is still the given one; returns whether it was. */
    static boolean placeShard(Connection connection, int shard, long epoch, String server) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(
                "UPDATE shardflake_catalog.shard SET server = ? WHERE shard = ? AND epoch = ?")) {
            statement.setString(1, server);
            statement.setInt(2, shard);
            statement.setLong(3, epoch);
            return statement.executeUpdate() == 1;
        }
    }

    /** Adds servers, places shards, then removes servers, so that every shard has a server throughout. */
    static void replaceMap(Connection connection, ShardMap current, ShardMap wanted) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            // Servers may swap URLs, or one may take over the URL of a server being removed.
            statement.execute("SET CONSTRAINTS ALL DEFERRED");
        }
        Map<String, Server> old = new LinkedHashMap<>();
        current.servers().forEach(server -> old.put(server.name(), server));
        for (Server server : wanted.servers()) {
            Server before = old.remove(server.name());
            if (before == null) {
                insertServer(connection, server);
            } else if (!before.equals(server)) {
                updateServer(connection, server);
            }
        }
        for (Server server : wanted.servers()) {
            ShardSet shards = ShardSet.of(wanted.shards(server).stream()
                    .filter(shard -> !current.server(shard).name().equals(server.name()))
                    .toArray());
            if (!shards.isEmpty()) {
                placeShards(connection, shards, server.name());
            }
        }
        catchUp(connection, current, wanted);
        for (String gone : old.keySet()) {
            deleteServer(connection, gone);
        }
    }

    /** Raises epochs to the wanted map's where placing the shards has left them lower. */
    private static void catchUp(Connection connection, ShardMap current, ShardMap wanted) throws SQLException {
        try (Statement statement = connection.createStatement();
                PreparedStatement raise = connection.prepareStatement(
                        "UPDATE shardflake_catalog.shard SET epoch = ? WHERE shard = ? AND epoch < ?")) {
            statement.execute("SET LOCAL shardflake.catch_up = 'on'");
            for (int shard = 0; shard < wanted.sharding().shardCount(); shard++) {
                long epoch = wanted.placement(shard).epoch();
                if (epoch > current.placement(shard).epoch()) {
                    raise.setLong(1, epoch);
                    raise.setInt(2, shard);
                    raise.setLong(3, epoch);
                    raise.addBatch();
                }
            }
            raise.executeBatch();
        }
    }

    /** Reads all lookups; a catalog of an older version has none. */
    static List<LookupDefinition> readLookups(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            try (ResultSet row =
                    statement.executeQuery("SELECT pg_catalog.to_regclass('shardflake_catalog.lookup') IS NOT NULL")) {
                row.next();
                if (!row.getBoolean(1)) {
                    return List.of();
                }
            }
            List<LookupDefinition> lookups = new ArrayList<>();
            try (ResultSet row = statement.executeQuery("""
                    SELECT number, name, is_unique, ignores_case, is_hashed, state, table_name, column_name, uid_column, id_column
                      FROM shardflake_catalog.lookup ORDER BY name
                    """)) {
                while (row.next()) {
                    lookups.add(new LookupDefinition(
                            row.getInt(1),
                            row.getString(2),
                            row.getBoolean(3),
                            row.getBoolean(4),
                            row.getBoolean(5),
                            row.getString(7) == null
                                    ? Optional.empty()
                                    : Optional.of(new LookupDefinition.Source(
                                            row.getString(7), row.getString(8), row.getString(9), row.getString(10))),
                            LookupDefinition.State.of(row.getString(6))));
                }
            }
            return lookups;
        }
    }

    static List<MapChange> readHistory(Connection connection, int limit) throws SQLException {
        List<MapChange> changes = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement("""
                SELECT version, changed_at, changed_by, change, shard, server, from_server, epoch, reason
                  FROM shardflake_catalog.history ORDER BY id DESC LIMIT ?
                """)) {
            statement.setInt(1, limit);
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    changes.add(readChange(row));
                }
            }
        }
        return changes;
    }

    private static MapChange readChange(ResultSet row) throws SQLException {
        Integer shard = row.getObject(5, Integer.class);
        Long epoch = row.getObject(8, Long.class);
        return new MapChange(
                row.getLong(1),
                row.getObject(2, OffsetDateTime.class).toInstant(),
                row.getString(3),
                row.getString(4),
                shard == null ? OptionalInt.empty() : OptionalInt.of(shard),
                Optional.ofNullable(row.getString(6)),
                Optional.ofNullable(row.getString(7)),
                epoch == null ? OptionalLong.empty() : OptionalLong.of(epoch),
                row.getString(9));
    }
}
