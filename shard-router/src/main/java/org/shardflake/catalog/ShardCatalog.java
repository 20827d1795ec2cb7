/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import javax.sql.DataSource;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.server.ServerUrl;

/**
 * The catalog of one installation: reads the shard map and changes it.
 *
 * <p>Thread-safe; each call takes a connection and closes it. Every change is one transaction, which increases the
 * map's version, writes the history and notifies the routers. The catalog itself refuses any change that would make the
 * map invalid.
 *
 * <p>The schema is deployed by {@code org.shardflake.sql.CatalogSchema}.
 */
public final class ShardCatalog {

    /** The channel on which the catalog announces the new version after a change. */
    public static final String CHANNEL = "shardflake_map";

    private final Source source;
    private final String name;

    private ShardCatalog(Source source, String name) {
        this.source = source;
        this.name = name;
    }

    /** The catalog in the database at this URL, on the primary if it names several hosts; does not connect yet. */
    public static ShardCatalog at(ServerUrl url) {
        return new ShardCatalog(() -> url.connect("shardflake"), url.toString());
    }

    /**
     * The catalog in the database that a data source connects to.
     *
     * @param name the catalog's name in messages
     */
    public static ShardCatalog at(DataSource source, String name) {
        return new ShardCatalog(source::getConnection, name);
    }

    /**
     * The current shard map.
     *
     * @throws CatalogUnavailableException if the catalog cannot be reached
     * @throws CatalogMissingException if there is no shard map yet
     */
    public ShardMap load() {
        return inTransaction(true, CatalogTables::readMap);
    }

    /** The identity of this installation, which never changes; throws what {@link #load()} throws. */
    public UUID installation() {
        return inTransaction(true, CatalogTables::readInstallation);
    }

    /** The current version of the shard map, cheaper than {@link #load()}; throws what that throws. */
    public long version() {
        return revision().version();
    }

    /** The current revision of the shard map, cheaper than {@link #load()}; throws what that throws. */
    public MapRevision revision() {
        try (Connection connection = connect()) {
            return CatalogTables.readRevision(connection);
        } catch (SQLException e) {
            throw explain(e);
        }
    }

    /**
     * Writes the first shard map.
     *
     * @throws CatalogConflictException if there is one already
     */
    public ShardMap initialize(ShardMap map, String reason) {
        return change(reason, connection -> {
            if (CatalogTables.isInitialized(connection)) {
                throw new CatalogConflictException(
                        "%s has a shard map already, and its shard count and epoch never change".formatted(this));
            }
            CatalogTables.insertMap(connection, map);
        });
    }

    /**
     * Checks that the catalog can store every property of a server. Changes nothing.
     *
     * @throws org.shardflake.ShardflakeException if the server has an application URL and the catalog is of an older version
     */
    public void requireKeeps(Server server) {
        if (server.applicationUrl().isPresent()) {
            inTransaction(true, connection -> {
                CatalogTables.requireKeeps(connection, server);
                return server;
            });
        }
    }

    /** Adds a server, without shards. */
    public ShardMap addServer(Server server, String reason) {
        return change(reason, connection -> {
            CatalogTables.readVersion(connection);
            CatalogTables.insertServer(connection, server);
        });
    }

    /**
     * Changes the URLs and labels of a server, for example after a failover to another host.
     *
     * @throws org.shardflake.UnknownServerException if no server has its name
     */
    public ShardMap changeServer(Server server, String reason) {
        return change(reason, connection -> {
            CatalogTables.readMap(connection).server(server.name());
            CatalogTables.updateServer(connection, server);
        });
    }

    /**
     * Removes a server that has no shards.
     *
     * @throws org.shardflake.UnknownServerException if no server has this name
     * @throws CatalogRuleException if it has shards
     */
    public ShardMap removeServer(String server, String reason) {
        return change(reason, connection -> {
            CatalogTables.readMap(connection).server(server);
            CatalogTables.deleteServer(connection, server);
        });
    }

    /**
     * Records that shards are on a server; moves no rows.
     *
     * <p>For shards that have no rows, or whose rows are on that server already.
     *
     * @throws org.shardflake.UnknownServerException if no server has this name
     * @throws org.shardflake.ShardOutOfRangeException if there is no such shard
     */
    public ShardMap place(ShardSet shards, String server, String reason) {
        return change(reason, connection -> {
            ShardMap map = CatalogTables.readMap(connection);
            map.server(server);
            shards.stream().forEach(map::server);
            CatalogTables.placeShards(connection, shards, server);
        });
    }

    /**
     * Places one shard if its epoch is still the given one.
     *
     * @throws CatalogConflictException if the shard has been placed since
     */
    public ShardMap place(int shard, long epoch, String server, String reason) {
        return change(reason, connection -> {
            CatalogTables.readMap(connection).server(server);
            if (!CatalogTables.placeShard(connection, shard, epoch, server)) {
                throw new CatalogConflictException(
                        "shard %s of %s was not placed on %s, since its epoch is no longer %s; read the map again"
                                .formatted(shard, this, server, epoch));
            }
        });
    }

    /**
     * Replaces the servers and placements in the catalog by a map's, in one transaction. Moves no rows. A catalog without a map takes it as its
     * first one.
     *
     * @throws CatalogConflictException if the catalog's map has another shard count, epoch or version than this one was
     *     based on
     */
    public ShardMap importMap(ShardMap map, String reason) {
        return importMap(map, reason, false);
    }

    /**
     * Imports a map, even into a restored catalog that has to catch up with newer servers.
     *
     * @param catchUp whether the map may have later epochs than the catalog has counted
     */
    public ShardMap importMap(ShardMap map, String reason, boolean catchUp) {
        return change(reason, connection -> {
            if (!CatalogTables.isInitialized(connection)) {
                CatalogTables.insertMap(connection, map);
                return;
            }
            CatalogTables.lock(connection);
            ShardMap current = CatalogTables.readMap(connection);
            checkSameInstallation(current, map);
            if (current.version() != map.version()) {
                throw new CatalogConflictException(
                        "the map to import is based on version %s, but %s is at version %s; export again and repeat the edit"
                                .formatted(map.version(), this, current.version()));
            }
            checkEpochs(current, map, catchUp);
            CatalogTables.replaceMap(connection, current, map);
        });
    }

    private void checkSameInstallation(ShardMap current, ShardMap map) {
        if (!current.sharding().equals(map.sharding()) || !current.layout().equals(map.layout())) {
            throw new CatalogConflictException(
                    "the map to import has %s shards and epoch %s, but %s has %s shards and epoch %s, which never change"
                            .formatted(
                                    map.sharding().shardCount(),
                                    map.layout().epoch(),
                                    this,
                                    current.sharding().shardCount(),
                                    current.layout().epoch()));
        }
    }

    private static void checkEpochs(ShardMap current, ShardMap map, boolean catchUp) {
        for (int shard = 0; shard < current.sharding().shardCount(); shard++) {
            long counted = current.placement(shard).epoch();
            long given = map.placement(shard).epoch();
            if (given < counted || (given > counted && !catchUp)) {
                throw new CatalogConflictException(
                        "the map to import has epoch %s of shard %s, but the catalog has %s; leave epochs as they were exported"
                                .formatted(given, shard, counted));
            }
        }
    }

    /** The latest changes, newest first. */
    public List<MapChange> history(int limit) {
        return inTransaction(true, connection -> CatalogTables.readHistory(connection, limit));
    }

    /** All lookups, by name; throws what {@link #load()} throws. */
    public List<LookupDefinition> lookups() {
        return inTransaction(true, CatalogTables::readLookups);
    }

    /** The catalog's name in messages: its URL without secrets. */
    @Override
    public String toString() {
        return "catalog " + name;
    }

    private ShardMap change(String reason, Change change) {
        Objects.requireNonNull(reason);
        return inTransaction(false, connection -> {
            try (PreparedStatement statement =
                    connection.prepareStatement("SELECT pg_catalog.set_config('shardflake.reason', ?, true)")) {
                statement.setString(1, reason);
                statement.execute();
            }
            change.apply(connection);
            return CatalogTables.readMap(connection);
        });
    }

    private <T> T inTransaction(boolean readOnly, Query<T> query) {
        Connection opened = connect();
        try (Connection connection = opened) {
            connection.setAutoCommit(false);
            connection.setReadOnly(readOnly);
            try {
                if (readOnly) {
                    seeOneMoment(connection);
                }
                T result = query.run(connection);
                connection.commit();
                return result;
            } catch (Throwable failure) {
                rollback(connection, failure);
                throw failure;
            }
        } catch (SQLException e) {
            throw explain(e);
        }
    }

    /** Gives this transaction one snapshot; the driver's method would change the session, which may be a pooler's. */
    private static void seeOneMoment(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        }
    }

    private Connection connect() {
        try {
            return source.connect();
        } catch (SQLException e) {
            throw new CatalogUnavailableException("cannot connect to %s: %s".formatted(this, whyUnreachable(e)), e);
        }
    }

    private static String whyUnreachable(SQLException e) {
        boolean isAnswer = e instanceof PSQLException server && server.getServerErrorMessage() != null;
        return isAnswer ? message(e) : ServerUrl.whyUnreachable(e);
    }

    private static void rollback(Connection connection, Throwable failure) {
        try {
            connection.rollback();
        } catch (SQLException e) {
            failure.addSuppressed(e);
        }
    }

    private RuntimeException explain(SQLException e) {
        String state = Objects.requireNonNullElse(e.getSQLState(), "");
        return switch (state) {
            case "3F000", "42P01" -> CatalogMissingException.noSchema(this, e);
            case "SF010", "23503", "23505", "23514" ->
                new CatalogRuleException("%s refused the change: %s".formatted(this, message(e)), e);
            default -> new CatalogUnavailableException("%s failed: %s".formatted(this, message(e)), e);
        };
    }

    /** The server's message without the refused row, which may contain a password. */
    private static String message(SQLException e) {
        ServerErrorMessage answer = e instanceof PSQLException server ? server.getServerErrorMessage() : null;
        if (answer == null) {
            return String.valueOf(e.getMessage());
        }
        String detail = Objects.requireNonNullElse(answer.getDetail(), "");
        String hint = Objects.requireNonNullElse(answer.getHint(), "");
        return answer.getMessage()
                + (detail.isEmpty() || detail.startsWith("Failing row") ? "" : "; " + detail)
                + (hint.isEmpty() ? "" : "\n  Hint: " + hint);
    }

    @FunctionalInterface
    private interface Source {
        Connection connect() throws SQLException;
    }

    @FunctionalInterface
    private interface Query<T> {
        T run(Connection connection) throws SQLException;
    }

    @FunctionalInterface
    private interface Change {
        void apply(Connection connection) throws SQLException;
    }
}
