/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.IdLayout;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.ReferenceChangelog;
import org.shardflake.jdbc.Sql;
import org.shardflake.replication.Replication;
import org.shardflake.replication.ReplicationLogin;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.CatalogSchema;
import org.shardflake.sql.FunctionLibrary;

/**
 * Reference tables: small tables in schema {@code reference}, the same on every server, to which the rows of all shards may refer. They
 * are written on one server, their home, and carried to the others by logical replication.
 *
 * <p>Every method locks out others that change reference tables. After an interruption, repeat the call to continue. Thread-safe; holds
 * no connection between calls.
 */
public final class ReferenceTables {

    private static final Duration LAG_PATIENCE = Duration.ofSeconds(5);

    private final ServerUrl catalog;
    private final Map<String, ServerUrl> urls;

    /** @param urls the URLs of the shard map's servers, by name */
    public ReferenceTables(ServerUrl catalog, Map<String, ServerUrl> urls) {
        this.catalog = catalog;
        this.urls = new LinkedHashMap<>(urls);
    }

    /** The server where reference tables are written, from the catalog; empty if there are none. */
    public static Optional<String> home(ServerUrl catalog) {
        return Sql.translating(() -> Sql.with(
                catalog.connect("shardflake reference"),
                connection -> ReferenceCatalog.home(connection).map(Home::server)));
    }

    /**
     * The result of a deployment.
     *
     * @param home where the tables are written
     * @param changeSets how many changesets were run, the same on every server
     * @param servers how many servers have the tables
     */
    public record Deployment(String home, int changeSets, int servers, List<String> tables) {}

    /**
     * Deploys a Liquibase changelog to schema {@code reference} of all servers in one moment, while writers of reference tables wait.
     *
     * @param home where the tables will be written, if there are none yet
     * @throws ShardflakeException if the changelog or a server forbids it; no server was changed, unless it says so
     */
    public Deployment deploy(Path changelog, DeploySettings settings, IdLayout layout, @Nullable String home) {
        ReplicationLogin.require(urls);
        return Sql.translating(() -> {
            try (ReferenceChangelog read = ReferenceChangelog.open(changelog, settings);
                    ReferenceSession session = ReferenceSession.open(catalog, urls)) {
                requireCatalog(session);
                checkHome(session, home);
                prepare(session, layout);
                if (session.catalog().home().isEmpty()) {
                    session.catalog().found(session.server(String.valueOf(home)).name());
                }
                Home its = session.settledHome();
                begin(session, session.server(its.server()));
                SchemaDeployment deployment = new SchemaDeployment(session, its);
                deployment.catchUp();
                ReferenceServer from = session.server(its.server());
                int pending = read.pending(from.control(), from.name());
                if (pending > 0) {
                    deployment.run(read);
                }
                return new Deployment(from.name(), pending, session.servers().size(), from.tables());
            }
        });
    }

    private static void requireCatalog(ReferenceSession session) throws SQLException {
        if (CatalogSchema.version(session.catalog().connection()) < CatalogSchema.version()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "the catalog is of an older version, which keeps no home of reference tables",
                    Advice.of("bring it up to date with %s", CliCommand.UPGRADE),
                    null);
        }
    }

    private static void checkHome(ReferenceSession session, @Nullable String home) throws SQLException {
        Optional<Home> known = session.catalog().home();
        if (known.isEmpty() && home == null) {
            throw new ShardflakeException(
                    Kind.USAGE,
                    "no server is the home of reference tables yet, where they are written",
                    Advice.of(
                            "make one of %s their home: %s",
                            String.join(
                                    ", ",
                                    session.servers().stream()
                                            .map(ReferenceServer::name)
                                            .toList()),
                            CliCommand.REFERENCE_DEPLOY_HOME),
                    null);
        }
        if (home != null) {
            session.server(home);
        }
        if (home != null && known.isPresent() && !known.get().server().equals(home)) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "the home of reference tables is %s".formatted(known.get().server()),
                    Advice.of("name no other, or change it with %s", CliCommand.REFERENCE_MOVE.with(home)),
                    null);
        }
        if (known.isEmpty()) {
            refuseStrangers(session);
        }
    }

    private static void refuseStrangers(ReferenceSession session) throws SQLException {
        for (ReferenceServer server : session.servers()) {
            List<String> tables = server.tables();
            if (!tables.isEmpty()) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "%s has %s already; nothing was changed".formatted(server.name(), tables.get(0)),
                        "rename schema reference there, or drop it if it is left over",
                        null);
            }
        }
    }

    private static void prepare(ReferenceSession session, IdLayout layout) throws SQLException {
        for (ReferenceServer server : session.servers()) {
            Sql.naming(server.control(), () -> FunctionLibrary.deploy(server.control(), layout.epochMillis()));
            ReferenceChangelog.prepare(server.control());
        }
    }

    /** Creates what the home needs before there are tables; may be repeated. */
    private static void begin(ReferenceSession session, ReferenceServer home) throws SQLException {
        Home its = session.home();
        Sql.execute(home.control(), "CREATE SCHEMA IF NOT EXISTS reference");
        Sql.call(
                home.control(),
                "INSERT INTO shardflake.reference_home (server, mode) VALUES (?, 'home') ON CONFLICT (only_row) DO UPDATE SET server = excluded.server, mode = 'home'",
                home.name());
        ReferenceStream.publish(home.control(), its.tag(), home.tables());
    }

    /**
     * Deletes a row on all servers in one moment.
     *
     * @param key the values of the primary key's columns, in their order
     * @throws ShardflakeException if there is no such row, or a row of a shard refers to it; it is then there as before
     */
    public void delete(String table, List<String> key) {
        Sql.translating(() -> {
            try (ReferenceSession session = ReferenceSession.open(catalog, urls)) {
                new RowDeletion(session, session.settledHome(), table, key).run();
            }
        });
    }

    /**
     * The result of an adoption.
     *
     * @param rows how many rows the table has
     * @param copied how many of them were copied now: none, or all
     * @param changeSet of Liquibase, for the shards' changelog: has foreign keys refer to the reference table and drops the shards' own
     */
    public record Adopted(String table, long rows, long copied, int shards, String changeSet) {}

    /**
     * Fills a reference table with the rows of the shards' table of the same name. Changes nothing in the shards.
     *
     * @throws ShardflakeException if not all shards have the same columns and rows, or the reference table has others
     */
    public Adopted adopt(String table, ShardMap map) {
        return Sql.translating(() -> {
            try (ReferenceSession session = ReferenceSession.open(catalog, urls)) {
                return new TableAdoption(session, session.settledHome(), map, table).run();
            }
        });
    }

    /** Changes the server where the tables are written. Nothing that was written before is lost; writers wait or retry for a moment. */
    public void move(String to) {
        ReplicationLogin.require(urls);
        Sql.translating(() -> {
            try (ReferenceSession session = ReferenceSession.open(catalog, urls)) {
                new HomeMove(session).run(to);
            }
        });
    }

    /** Repairs all servers: tables and rows become as on the home, and streams work again. Returns how many rows were changed, by server. */
    public Map<String, Long> repair() {
        ReplicationLogin.require(urls);
        return Sql.translating(() -> {
            try (ReferenceSession session = ReferenceSession.open(catalog, urls)) {
                Home home = session.settledHome();
                ReferenceServer from = session.server(home.server());
                session.dropStaleSlots(home);
                begin(session, from);
                Map<String, Long> changed = new TreeMap<>();
                for (ReferenceStream stream : session.streams(home.server(), home.tag())) {
                    changed.put(stream.copy().name(), session.bring(home, stream.copy()));
                }
                // Last: what is written to a new table before a stream knows it is left out.
                ReferenceSession.guard(from, "home", home.server());
                return changed;
            }
        });
    }

    /** Creates the tables on a server that was added to the shard map. Does nothing without tables. */
    public void add(String server) {
        if (home(catalog).isEmpty()) {
            return;
        }
        ReplicationLogin.require(urls);
        Sql.translating(() -> {
            try (ReferenceSession session = ReferenceSession.open(catalog, urls)) {
                session.bring(session.settledHome(), session.server(server));
            }
        });
    }

    /**
     * Ends the stream to a server that leaves the shard map; otherwise the home would keep its log for it.
     *
     * @throws ShardflakeException if the server is the home
     */
    public void remove(String server) {
        Sql.translating(() -> {
            Optional<Home> known = Sql.with(catalog.connect("shardflake reference"), ReferenceCatalog::home);
            if (known.isEmpty()) {
                return;
            }
            Home home = known.get();
            if (home.server().equals(server) || server.equals(home.next()) || server.equals(home.old())) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "reference tables are written on %s".formatted(server),
                        Advice.of("make another server their home: %s", CliCommand.REFERENCE_MOVE),
                        null);
            }
            String name = ReferenceStream.name(home.tag(), server);
            ServerUrl its = urls.get(home.server());
            if (its != null) {
                Sql.with(its.connect("shardflake reference"), connection -> {
                    Replication.dropSlot(connection, name);
                    return name;
                });
            }
            dropSubscription(server, name);
        });
    }

    /** Drops a server's subscription, if the server still answers. */
    private void dropSubscription(String server, String name) {
        ServerUrl url = urls.get(server);
        if (url == null) {
            return;
        }
        try {
            Sql.with(url.connect("shardflake reference"), connection -> {
                ReferenceStream.dropSubscription(connection, name);
                return name;
            });
        } catch (SQLException e) {
            // Without its slot the subscription does no harm.
        }
    }

    /** The home of the tables, and the state of all other servers. Writes a mark, whose arrival it awaits for up to 5 s. */
    public ReferenceStatus status() {
        return Sql.translating(() -> {
            Home home = Sql.with(catalog.connect("shardflake reference"), ReferenceCatalog::home)
                    .orElseThrow(Home::missing);
            List<CliCommand> unfinished =
                    Sql.with(catalog.connect("shardflake reference"), connection -> unfinished(connection, home));
            ServerUrl url = urls.get(home.server());
            if (url == null) {
                throw new ShardflakeException("server %s is not in the shard map".formatted(home.server()));
            }
            try (Connection from = url.connect("shardflake reference")) {
                List<ReferenceStatus.Copy> copies = new ArrayList<>();
                for (Map.Entry<String, ServerUrl> server : urls.entrySet()) {
                    if (!server.getKey().equals(home.server())) {
                        copies.add(copy(home, from, server.getKey(), server.getValue()));
                    }
                }
                return new ReferenceStatus(home.server(), ReferenceServer.tables(from), copies, unfinished);
            }
        });
    }

    private static List<CliCommand> unfinished(Connection connection, Home home) throws SQLException {
        List<CliCommand> commands = new ArrayList<>();
        if (home.isChanging()) {
            commands.add(CliCommand.REFERENCE_MOVE.with(home.next() == null ? home.server() : home.next()));
        }
        ReferenceCatalog.unfinishedDeletes(connection)
                .forEach(row -> commands.add(CliCommand.REFERENCE_DELETE.with(row.toArray())));
        return commands;
    }

    private static ReferenceStatus.Copy copy(Home home, Connection from, String name, ServerUrl url)
            throws SQLException {
        try (ReferenceServer copy = ReferenceServer.connect(name, url)) {
            if (!copy.hasLibrary()) {
                return new ReferenceStatus.Copy(name, Optional.empty(), Optional.of("it has no reference tables"));
            }
            long start = System.nanoTime();
            Sql.execute(from, "SET lock_timeout = '2s'");
            long version = Sql.number(from, "SELECT shardflake.next_reference_version()");
            boolean arrived = copy.reaches(version, LAG_PATIENCE);
            Duration lag = Duration.ofNanos(System.nanoTime() - start);
            return new ReferenceStatus.Copy(
                    name,
                    arrived ? Optional.of(lag) : Optional.empty(),
                    ReferenceStream.trouble(
                            home.server(), from, name, copy.control(), ReferenceStream.name(home.tag(), name)));
        } catch (ShardflakeException e) {
            return new ReferenceStatus.Copy(name, Optional.empty(), Optional.of(String.valueOf(e.getMessage())));
        } catch (SQLException e) {
            if (!Sql.isInTheWay(e)) {
                throw e;
            }
            return new ReferenceStatus.Copy(
                    name, Optional.empty(), Optional.of("unknown, since a transaction on the home is writing"));
        }
    }
}
