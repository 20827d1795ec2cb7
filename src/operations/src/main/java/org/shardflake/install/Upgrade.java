/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.install;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.deploy.SchemaLock;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.server.MoveServer;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.CatalogSchema;
import org.shardflake.sql.FunctionLibrary;
import org.shardflake.sql.InstallationIdentity;

/**
 * Upgrades the function library and the catalog of an installation to this version, while applications use it. After an interruption, prepare
 * and run it again to continue. {@link Installation#upgrade()} is the way in.
 *
 * <p>The servers come first, and the catalog last, as when an installation is made: a catalog of the new version says that all servers
 * have the new library. Nobody changes the schema of a shard or begins a move until this is closed. Not thread-safe.
 */
public final class Upgrade implements AutoCloseable {

    /** The catalog's name among the servers. */
    public static final String CATALOG = "catalog";

    /** The name of the step for a server that does not know its installation yet. */
    private static final String IDENTITY = "the installation's id";

    private static final Duration LOCK_PATIENCE = Duration.ofSeconds(5);

    /**
     * The upgrade of one database.
     *
     * @param server its name in the shard map, or {@link #CATALOG}
     * @param from the version that it has, 0 if none
     * @param to the version that it gets
     * @param changes the changesets that it lacks, by id
     */
    public record Step(String server, int from, int to, List<String> changes) {

        public Step {
            changes = List.copyOf(changes);
        }

        public boolean isNeeded() {
            return !changes.isEmpty();
        }
    }

    private final ServerUrl catalogUrl;
    private final Map<String, ServerUrl> urls = new LinkedHashMap<>();
    private final Map<String, ServerWork> servers = new LinkedHashMap<>();
    private final List<ServerWork> opened;
    private final List<Step> steps = new ArrayList<>();
    private final List<Move> moves;
    private final ServerWork catalog;
    private long epochMillis;
    private @Nullable InstallationIdentity identity;

    private Upgrade(ServerUrl catalogUrl, Function<Server, ServerUrl> urls, List<ServerWork> opened) {
        this.catalogUrl = catalogUrl;
        this.opened = opened;
        ShardCatalog.at(catalogUrl).version(); // refuses if there is no map
        this.catalog = open(catalogUrl);
        catalog.run(connection -> readServers(connection, urls));
        this.urls.forEach((name, url) -> servers.put(name, open(url)));
        this.moves = Mover.moves(catalogUrl);
        refuseMoves();
        servers.forEach(this::examine);
        catalog.run(connection -> steps.add(new Step(
                CATALOG,
                CatalogSchema.version(connection),
                CatalogSchema.version(),
                CatalogSchema.missing(connection))));
    }

    /** Connects, checks and locks, for {@link Installation#upgrade()}. */
    static Upgrade prepare(ServerUrl catalog, Function<Server, ServerUrl> urls) {
        List<ServerWork> opened = new ArrayList<>();
        try {
            return new Upgrade(catalog, urls, opened);
        } catch (RuntimeException e) {
            opened.forEach(ServerWork::close);
            throw e;
        }
    }

    private ServerWork open(ServerUrl url) {
        ServerWork work = ServerWork.connect(url);
        opened.add(work);
        // Applications wait behind whoever waits for a table.
        work.run(connection -> Sql.execute(connection, "SET lock_timeout = '2s'"));
        return work;
    }

    /** Reads the servers with queries that work on catalogs of all versions. */
    private void readServers(Connection connection, Function<Server, ServerUrl> toUrl) throws SQLException {
        identity = InstallationIdentity.ofCatalog(connection).orElse(null);
        epochMillis = Sql.number(connection, "SELECT epoch_ms FROM shardflake_catalog.installation");
        Sql.list(
                        connection,
                        "SELECT name, url FROM shardflake_catalog.server ORDER BY name",
                        row -> new Server(row.getString(1), row.getString(2)))
                .forEach(server -> urls.put(server.name(), toUrl.apply(server)));
    }

    private void examine(String name, ServerWork server) {
        server.run(connection -> {
            SchemaLock.take(connection, name, LOCK_PATIENCE);
            FunctionLibrary.check(connection, epochMillis);
            if (identity != null) {
                ServerIdentities.requireOwn(connection, name, identity);
            }
            List<String> missing = new ArrayList<>(FunctionLibrary.missing(connection));
            if (InstallationIdentity.ofServer(connection).isEmpty()) {
                missing.add(IDENTITY);
            }
            steps.add(new Step(name, FunctionLibrary.version(connection), FunctionLibrary.version(), missing));
        });
    }

    /** Refuses running moves, whose command would meet functions of both versions. */
    private void refuseMoves() {
        Mover mover = new Mover(
                catalogUrl,
                name -> new MoveServer(name, Objects.requireNonNull(urls.get(name))),
                MoveSettings.DEFAULT,
                MoveListener.NONE);
        for (Move move : moves) {
            if (mover.isTakenUp(move.id())) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "a command works on move %s; nothing was changed".formatted(move.id()),
                        "wait until it is done, or stop it with Ctrl-C and continue the move after the upgrade",
                        null);
            }
        }
    }

    /** The steps of every server, with the catalog last. */
    public List<Step> steps() {
        return List.copyOf(steps);
    }

    /** The unfinished moves, which the new version will continue. */
    public List<Move> moves() {
        return moves;
    }

    /**
     * Runs the steps that are needed.
     *
     * @param done receives each step that was needed, when it is done
     */
    public void run(Consumer<Step> done) {
        for (Step step : steps) {
            if (step.isNeeded()) {
                ServerWork server = servers.get(step.server());
                if (server == null) {
                    catalog.run(CatalogSchema::deploy);
                } else {
                    server.run(connection -> FunctionLibrary.deploy(connection, epochMillis));
                }
                done.accept(step);
            }
        }
        remember();
    }

    /** Records the identity last, since an older catalog had no id. A server with shards that the map gives to others is left for doctor. */
    private void remember() {
        ShardMap map = ShardCatalog.at(catalogUrl).load();
        catalog.run(connection -> InstallationIdentity.ofCatalog(connection)
                .ifPresent(own -> servers.forEach(
                        (name, server) -> server.run(its -> ServerIdentities.remember(its, name, map, own)))));
    }

    @Override
    public void close() {
        opened.forEach(ServerWork::close);
    }
}
