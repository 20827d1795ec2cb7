/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.restore;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import org.shardflake.Server;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.install.ServerFailedException;
import org.shardflake.jdbc.Sql;
import org.shardflake.restore.RestorePoint.Place;
import org.shardflake.server.ServerUrl;

/**
 * Creates one restore point.
 *
 * <p>Databases of one PostgreSQL server share its write-ahead log, and recovery stops at the first point of a name, so each server gets
 * one point. The server with the catalog gets its own last: the catalog restored to it then has the record of all others.
 */
final class RestorePointRun implements AutoCloseable {

    private static final String APPLICATION = "shardflake restore-point";

    /** The limit on a server's answer, since a server that hangs would hold up cutovers. */
    private static final int ANSWER_MILLIS = 10_000;

    private static final String PLACE =
            "SELECT lsn::text, pg_walfile_name(lsn), clock_timestamp() FROM pg_create_restore_point(?) AS lsn";

    /** Reads a position before the point to come. */
    private static final String NOW =
            "SELECT lsn::text, pg_walfile_name(lsn), clock_timestamp() FROM pg_current_wal_insert_lsn() AS lsn";

    /**
     * A PostgreSQL server.
     *
     * @param servers the names of its databases in the shard map
     */
    private record Instance(String identity, boolean hasCatalog, Connection connection, List<String> servers) {
        @Override
        public String toString() {
            return hasCatalog ? "the catalog's server" : String.join(", ", servers);
        }
    }

    private final List<Connection> opened;
    private final List<Server> servers;
    private final Map<String, Connection> connections = new LinkedHashMap<>();
    private final Connection lock;
    private final Connection catalog;
    private final Instance home;
    private final List<Instance> others = new ArrayList<>();

    /** The servers that have the point so far. */
    private final List<String> made = new ArrayList<>();

    private RestorePointRun(ServerUrl catalogUrl, Function<Server, ServerUrl> urls, List<Connection> opened)
            throws SQLException {
        this.opened = opened;
        this.servers = ShardCatalog.at(catalogUrl).load().servers();
        this.lock = open(catalogUrl);
        this.catalog = open(catalogUrl);
        PointCatalog.require(catalog);
        this.home = new Instance(identity(catalog), true, catalog, new ArrayList<>());
        Map<String, Instance> byRun = new LinkedHashMap<>();
        byRun.put(run(catalog), home);
        requirePrivilege(catalog, RestorePoint.CATALOG);
        for (Server server : servers) {
            Connection connection = open(urls.apply(server));
            connections.put(server.name(), connection);
            requirePrivilege(connection, server.name());
            Instance instance = byRun.get(run(connection));
            if (instance == null) {
                instance = new Instance(identity(connection), false, connection, new ArrayList<>());
                byRun.put(run(connection), instance);
                others.add(instance);
            }
            instance.servers().add(server.name());
        }
    }

    /** Connects to the catalog and all servers, and checks that they are able to create a point. Changes nothing. */
    static RestorePointRun connect(ServerUrl catalog, Function<Server, ServerUrl> urls) throws SQLException {
        List<Connection> opened = new ArrayList<>();
        try {
            return new RestorePointRun(catalog, urls, opened);
        } catch (SQLException | RuntimeException e) {
            opened.forEach(Sql::close);
            throw e;
        }
    }

    private Connection open(ServerUrl url) throws SQLException {
        try {
            Connection connection = url.connect(APPLICATION);
            opened.add(connection);
            connection.setNetworkTimeout(Runnable::run, ANSWER_MILLIS);
            return connection;
        } catch (SQLException e) {
            throw ServerFailedException.connecting(url, e);
        }
    }

    /** Identifies a running server, as distinct from copies of it. */
    private static String run(Connection connection) throws SQLException {
        return identity(connection) + " " + Sql.text(connection, "SELECT pg_postmaster_start_time()::text");
    }

    /** The system identifier; empty if the role may not read it. */
    static String identity(Connection connection) throws SQLException {
        return Sql.systemIdentifier(connection).orElse("");
    }

    private static void requirePrivilege(Connection connection, String server) throws SQLException {
        if (!Sql.isTrue(connection, "SELECT has_function_privilege('pg_create_restore_point(text)', 'execute')")) {
            String role = Sql.text(connection, "SELECT quote_ident(current_user)");
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "role %s may not make restore points on %s".formatted(role, server),
                    "as a superuser, in that database: GRANT EXECUTE ON FUNCTION pg_create_restore_point(text) TO %s"
                            .formatted(role),
                    null);
        }
    }

    void make(String name, Duration patience, Consumer<String> warnings) throws SQLException {
        refuseKnown(name);
        try (QuietMoment moment = QuietMoment.await(lock, connections, patience)) {
            refuseOtherServers();
            begin(name);
            makeOnServers(name);
            makeInCatalog(name);
        }
        // On the disk with its point, which comes before.
        orIncomplete(name, home, () -> PointCatalog.enter(catalog, name, "complete"));
        warn(warnings);
    }

    private void refuseKnown(String name) throws SQLException {
        if (PointCatalog.find(catalog, name).isPresent()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "there is a restore point %s already, and recovery stops at the first of a name".formatted(name),
                    "take another name",
                    null);
        }
    }

    private void refuseOtherServers() throws SQLException {
        List<String> now = Sql.list(
                catalog, "SELECT concat_ws(' ', name, url) FROM shardflake_catalog.server", row -> row.getString(1));
        List<String> before = servers.stream()
                .map(server -> server.name() + " " + server.url())
                .toList();
        if (now.size() != before.size() || !now.containsAll(before)) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "the servers of the shard map have just been changed; no restore point was made",
                    "run the same command again",
                    null);
        }
    }

    private void begin(String name) throws SQLException {
        long version = Sql.number(catalog, "SELECT version FROM shardflake_catalog.installation");
        PointCatalog.begin(catalog, name, version, Sql.text(catalog, PointCatalog.PLACEMENTS));
    }

    private void makeOnServers(String name) {
        for (Instance instance : others) {
            record(name, instance, PLACE, name);
            made.addAll(instance.servers());
        }
        for (Instance instance : others) {
            // The point itself waits for nothing, and a server that crashes now would lose it.
            orIncomplete(name, instance, () -> Sql.awaitDisk(instance.connection()));
        }
    }

    /** Records the point before creating it, so that the restored catalog has the record, and adds its position afterwards. */
    private void makeInCatalog(String name) {
        // By the session that holds the locks: if it has lost them, there is no point, and the record is incomplete.
        Instance locked = new Instance(home.identity(), true, lock, home.servers());
        record(name, locked, NOW);
        orIncomplete(name, home, () -> PointCatalog.enter(catalog, name, "on all servers"));
        record(name, locked, PLACE, name);
    }

    private void record(String name, Instance instance, String sql, Object... parameters) {
        record Found(String lsn, String walFile, OffsetDateTime madeAt) {
            Place place(String server, boolean isCatalog, String identity) {
                return new Place(server, isCatalog, identity, lsn, walFile, madeAt.toInstant());
            }
        }
        List<Found> found = new ArrayList<>();
        orIncomplete(
                name,
                instance,
                () -> found.addAll(Sql.list(
                        instance.connection(),
                        sql,
                        row -> new Found(row.getString(1), row.getString(2), row.getObject(3, OffsetDateTime.class)),
                        parameters)));
        for (String server : instance.servers()) {
            enter(name, found.get(0).place(server, false, instance.identity()));
        }
        if (instance.hasCatalog()) {
            enter(name, found.get(0).place(RestorePoint.CATALOG, true, instance.identity()));
        }
    }

    private void enter(String name, Place place) {
        orIncomplete(name, home, () -> PointCatalog.record(catalog, name, place));
    }

    /** A part of the work on one of the servers. */
    @FunctionalInterface
    private interface Part {
        void run() throws SQLException;
    }

    private void orIncomplete(String name, Instance instance, Part part) {
        try {
            part.run();
        } catch (SQLException e) {
            throw new ShardflakeException(
                    Kind.PARTLY_DONE,
                    "restore point %s is incomplete: %s failed: %s; %s"
                            .formatted(
                                    name,
                                    instance,
                                    Sql.message(e),
                                    made.isEmpty()
                                            ? "no other server has it"
                                            : "only %s have it".formatted(String.join(", ", made))),
                    "when the server answers, make another, with another name; this one is useless",
                    e);
        }
    }

    private void warn(Consumer<String> warnings) throws SQLException {
        for (Instance instance : all()) {
            if (Sql.isTrue(instance.connection(), "SELECT current_setting('archive_mode') = 'off'")) {
                warnings.accept("archive_mode is off on %s: its write-ahead log must be kept in another way"
                        .formatted(instance));
            }
        }
        for (long move :
                Sql.list(catalog, "SELECT id FROM shardflake_catalog.move ORDER BY id", row -> row.getLong(1))) {
            warnings.accept(
                    "move %s is in progress; its replication is not restored, so it will have to be cancelled then"
                            .formatted(move));
        }
    }

    private List<Instance> all() {
        List<Instance> all = new ArrayList<>(others);
        all.add(home);
        return all;
    }

    @Override
    public void close() {
        opened.forEach(Sql::close);
    }
}
