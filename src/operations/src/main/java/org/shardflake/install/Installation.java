/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.install;

import java.util.function.Function;
import org.shardflake.DeployedLayout;
import org.shardflake.IdLayout;
import org.shardflake.LibraryNotDeployedException;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.catalog.CatalogMissingException;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.CatalogSchema;
import org.shardflake.sql.FunctionLibrary;

/**
 * A catalog and the servers of its shard map: sets them up, and adds servers. After an interruption, repeat the call to continue.
 * Thread-safe; holds no connection between calls.
 *
 * <p>All methods throw {@link ServerFailedException} if a server cannot be reached, fails, or has a newer Shardflake's SQL.
 */
public final class Installation {

    private final ServerUrl catalog;
    private final Function<Server, ServerUrl> urls;

    /**
     * @param catalog the database that has the catalog, or will have it
     * @param urls the URL of a server of the shard map, including what is needed to log in
     */
    public Installation(ServerUrl catalog, Function<Server, ServerUrl> urls) {
        this.catalog = catalog;
        this.urls = urls;
    }

    /** An installation whose servers are at the shard map's URLs. */
    public static Installation at(ServerUrl catalog) {
        return new Installation(catalog, server -> ServerUrl.parse(server.url()));
    }

    /**
     * Checks that {@link #create} could set this map up. Changes nothing.
     *
     * @throws ShardflakeException if there is a shard map already
     * @throws org.shardflake.LayoutMismatchException if a server makes ids of another layout
     */
    public void check(ShardMap map) {
        requireNoMap();
        run(catalog, CatalogSchema::check);
        map.servers().forEach(server -> check(server, map.layout()));
    }

    /** Deploys the function library to every server of this map and the catalog to its database, and records the map. */
    public ShardMap create(ShardMap map, String reason) {
        check(map);
        map.servers().forEach(server -> deployLibrary(server, map.layout()));
        deployCatalog();
        return ShardCatalog.at(catalog).initialize(map, reason);
    }

    private void requireNoMap() {
        ShardCatalog existing = ShardCatalog.at(catalog);
        long version;
        try {
            version = existing.version();
        } catch (CatalogMissingException e) {
            return;
        }
        throw new ShardflakeException(
                ShardflakeException.Kind.PRECONDITION,
                "%s has a shard map already, at version %d".formatted(existing, version),
                "show it with shardflake map show, add a server with shardflake server add",
                null);
    }

    /**
     * Checks that {@link #add} could deploy the function library to a server. Changes nothing.
     *
     * @throws org.shardflake.LayoutMismatchException if it makes ids with another layout
     */
    public void check(Server server, IdLayout layout) {
        try {
            requireLibrary(server, layout);
        } catch (LibraryNotDeployedException e) {
            // Then only its deployment is missing.
        }
        run(urls.apply(server), connection -> FunctionLibrary.check(connection, layout.epochMillis()));
    }

    /** Deploys the function library to a server and adds it to the shard map, without shards. */
    public ShardMap add(Server server, String reason) {
        ShardCatalog existing = ShardCatalog.at(catalog);
        IdLayout layout = existing.load().layout();
        check(server, layout);
        deployLibrary(server, layout);
        return existing.addServer(server, reason);
    }

    /**
     * Checks that a server makes ids with this layout.
     *
     * @throws org.shardflake.LayoutMismatchException if it makes ids with another epoch
     * @throws LibraryNotDeployedException if it makes no ids
     */
    public void requireLibrary(Server server, IdLayout layout) {
        run(urls.apply(server), connection -> DeployedLayout.require(connection, layout));
    }

    /** Deploys the catalog's schema, or brings it up to date. */
    public void deployCatalog() {
        run(catalog, CatalogSchema::deploy);
    }

    private void deployLibrary(Server server, IdLayout layout) {
        run(urls.apply(server), connection -> FunctionLibrary.deploy(connection, layout.epochMillis()));
    }

    private static void run(ServerUrl server, ServerWork.Task task) {
        try (ServerWork work = ServerWork.connect(server)) {
            work.run(task);
        }
    }
}
