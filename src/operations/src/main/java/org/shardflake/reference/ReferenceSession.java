/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.deploy.ReferenceChangelog;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.replication.Replication;
import org.shardflake.server.ServerUrl;

/** One command's work on reference tables, with the catalog locked and connections to all servers. For one thread. */
final class ReferenceSession implements AutoCloseable {

    /** The time for which writers may hold up a command that needs locks. */
    private static final Duration LOCK_PATIENCE = Duration.ofSeconds(30);

    /** The time for which writers may have to wait for a lagging server. */
    private static final Duration FOLLOW_PATIENCE = Duration.ofSeconds(10);

    private final ReferenceCatalog catalog;
    private final Map<String, ReferenceServer> servers = new LinkedHashMap<>();

    private ReferenceSession(ReferenceCatalog catalog) {
        this.catalog = catalog;
    }

    /** Connects to the catalog and to all servers. */
    static ReferenceSession open(ServerUrl catalog, Map<String, ServerUrl> urls) throws SQLException {
        ReferenceSession session = new ReferenceSession(ReferenceCatalog.lock(catalog));
        try {
            urls.forEach((name, url) -> session.servers.put(name, ReferenceServer.connect(name, url)));
            return session;
        } catch (RuntimeException e) {
            session.close();
            throw e;
        }
    }

    ReferenceCatalog catalog() {
        return catalog;
    }

    List<ReferenceServer> servers() {
        return List.copyOf(servers.values());
    }

    /** @throws ShardflakeException if the shard map has no such server */
    ReferenceServer server(String name) {
        ReferenceServer server = servers.get(name);
        if (server == null) {
            throw new ShardflakeException(
                    Kind.USAGE,
                    "there is no server %s in the shard map".formatted(name),
                    "one of " + String.join(", ", servers.keySet()),
                    null);
        }
        return server;
    }

    /** @throws ShardflakeException if there are no reference tables */
    Home home() throws SQLException {
        return catalog.home().orElseThrow(Home::missing);
    }

    /** @throws ShardflakeException if the home is being changed */
    Home settledHome() throws SQLException {
        Home home = home();
        if (home.isChanging()) {
            String to = home.next() == null ? home.server() : home.next();
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "the home is being changed to %s, and that was interrupted".formatted(to),
                    home.next() == null
                            ? Advice.of("%s finishes it", CliCommand.REFERENCE_MOVE.with(to))
                            : Advice.of(
                                    "%s finishes it, %s gives it up",
                                    CliCommand.REFERENCE_MOVE.with(to), CliCommand.REFERENCE_MOVE.with(home.server())),
                    null);
        }
        return home;
    }

    /** The streams from a home to all other servers. */
    List<ReferenceStream> streams(String home, String tag) {
        List<ReferenceStream> streams = new ArrayList<>();
        for (ReferenceServer server : servers()) {
            if (!server.name().equals(home)) {
                streams.add(new ReferenceStream(tag, server(home), server));
            }
        }
        return streams;
    }

    /**
     * Begins a transaction on the home that blocks all writers, and returns the version that all other servers must reach. Gives way to writers
     * until it can have the locks at once.
     */
    static long hold(ReferenceServer home, List<String> tables) throws SQLException {
        long[] version = {0};
        @Nullable SQLException[] inTheWay = {null};
        boolean held = Poll.everyMillis(50, LOCK_PATIENCE).until(() -> {
            try {
                home.begin(tables);
                version[0] = home.awaitWriters();
                return true;
            } catch (SQLException e) {
                home.rollback();
                if (!Sql.isInTheWay(e)) {
                    throw e;
                }
                inTheWay[0] = e;
                return false;
            }
        });
        if (!held) {
            throw new ShardflakeException(
                    Kind.FAILURE,
                    "transactions on %s have written to reference tables for more than %s s"
                            .formatted(home.name(), LOCK_PATIENCE.toSeconds()),
                    "end them, or run the same command again later",
                    inTheWay[0]);
        }
        return version[0];
    }

    /**
     * Waits until a server has received everything up to this version.
     *
     * @throws ShardflakeException if it does not get there in time
     */
    static void awaitVersion(ReferenceStream stream, long version) throws SQLException {
        if (!stream.copy().reaches(version, FOLLOW_PATIENCE)) {
            Optional<String> trouble = stream.trouble();
            throw new ShardflakeException(
                    Kind.FAILURE,
                    "%s does not get what is written to reference tables%s"
                            .formatted(
                                    stream.copy().name(),
                                    trouble.map(found -> ": " + found).orElse("; its log says why")),
                    Advice.of("%s repairs it", CliCommand.REFERENCE_REPAIR),
                    null);
        }
    }

    /** Begins the transaction on a server that is not the home. Gives way to whoever has the locks. */
    static void join(ReferenceServer copy, List<String> tables) throws SQLException {
        boolean joined = Poll.everyMillis(50, LOCK_PATIENCE).until(() -> {
            try {
                copy.begin(tables);
                return true;
            } catch (SQLException e) {
                copy.rollback();
                if (!Sql.isInTheWay(e)) {
                    throw e;
                }
                return false;
            }
        });
        if (!joined) {
            throw new ShardflakeException(
                    Kind.FAILURE,
                    "transactions on %s have locked its reference tables for more than %s s"
                            .formatted(copy.name(), LOCK_PATIENCE.toSeconds()),
                    "end them, and run the same command again, which continues",
                    null);
        }
    }

    /** Drops slots of servers that left the shard map without {@link ReferenceTables#remove}. */
    void dropStaleSlots(Home home) throws SQLException {
        // Not those that this command began with: one may have been added before it got the lock.
        Set<String> names = Set.copyOf(
                Sql.list(catalog.connection(), "SELECT name FROM shardflake_catalog.server", row -> row.getString(1)));
        for (ReferenceServer server : servers()) {
            Set<String> used = home.slotsOn(server.name(), names);
            for (String slot : ReferenceStream.staleSlots(server.control(), used)) {
                Replication.dropSlot(server.control(), slot);
            }
        }
    }

    /** Makes a server the home, a copy, or closed. */
    static void guard(ReferenceServer server, String mode, String home) throws SQLException {
        List<String> tables = server.tables();
        try {
            join(server, tables);
            server.guard(tables, mode, home);
            server.record(mode, home);
            server.commit();
        } finally {
            server.rollback();
        }
    }

    /** Rolls back all transactions. */
    void rollback() {
        servers.values().forEach(ReferenceServer::rollback);
    }

    /** Repairs one server: makes its tables and rows equal to the home's, and repairs its stream. Returns how many rows were changed. */
    long bring(Home home, ReferenceServer copy) throws SQLException {
        ReferenceServer from = server(home.server());
        ReferenceStream stream = new ReferenceStream(home.tag(), from, copy);
        ReferenceChangelog.prepare(copy.control());
        bringSchema(from, copy);
        // A subscription keeps the URL and the password that it was made with.
        boolean isNew = !stream.isWhole() || stream.trouble().isPresent();
        if (isNew) {
            stream.dropSubscription();
            stream.dropSlot();
            stream.createSlot();
        } else {
            stream.enable();
            stream.refresh();
        }
        try {
            List<String> tables = from.tables();
            long version = hold(from, List.of());
            if (!isNew) {
                awaitVersion(stream, version);
            }
            join(copy, tables);
            copy.unguard(tables);
            long changed = new RowCopy(from.work(), copy.work()).copy(tables);
            copy.guard(tables, "copy", from.name());
            if (isNew) {
                Sql.call(
                        copy.work(),
                        "UPDATE shardflake.reference_version SET version = ?, written_at = clock_timestamp()",
                        version);
            }
            copy.commit();
            if (isNew) {
                stream.skipToNow();
                stream.createSubscription();
                stream.enable();
            }
            return changed;
        } finally {
            rollback();
        }
    }

    /** Creates a server's tables as on the home. */
    private static void bringSchema(ReferenceServer from, ReferenceServer copy) throws SQLException {
        List<String> before = copy.tables();
        try {
            join(copy, before);
            Sql.execute(copy.work(), "CREATE SCHEMA IF NOT EXISTS reference");
            copy.unguard(before);
            ReferenceChangelog.copy(from.control(), copy.work(), copy.name());
            copy.guard(ReferenceServer.tables(copy.work()), "copy", from.name());
            copy.record("copy", from.name());
            copy.commit();
        } finally {
            copy.rollback();
        }
    }

    @Override
    public void close() {
        servers.values().forEach(ReferenceServer::close);
        catalog.close();
    }
}
