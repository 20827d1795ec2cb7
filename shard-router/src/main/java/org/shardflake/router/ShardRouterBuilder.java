/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import com.zaxxer.hikari.HikariConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.catalog.ShardMapFile;
import org.shardflake.server.ServerUrl;

/** What a {@link ShardRouter} is made of. Only a catalog, a file or a map must be given; not thread-safe. */
public final class ShardRouterBuilder {

    private @Nullable ServerUrl catalog;
    private @Nullable ShardMap staticMap;
    private @Nullable Path cacheFile;
    private Duration pollInterval = Duration.ofSeconds(5);
    private Duration drainTimeout = Duration.ofSeconds(30);
    private RetryPolicy retryPolicy = RetryPolicy.DEFAULT;
    private int poolSize = 10;
    private Duration connectionTimeout = Duration.ofSeconds(5);
    private Duration statementTimeout = Duration.ofSeconds(60);
    private Duration closeTimeout = Duration.ofSeconds(30);
    private int cachedStatements = 1000;
    private Login login = new Login(null, null);
    private BiConsumer<Server, HikariConfig> poolCustomizer = (server, config) -> {};
    private final List<RouterListener> listeners = new ArrayList<>();
    private @Nullable ExecutorService executor;

    ShardRouterBuilder() {}

    /** The database with the catalog, as {@code postgresql://user@host/database}, to follow its shard map. */
    public ShardRouterBuilder catalog(String url) {
        return catalog(ServerUrl.parse(url));
    }

    /** The database with the catalog, to follow its shard map. */
    public ShardRouterBuilder catalog(ServerUrl url) {
        this.catalog = url;
        return this;
    }

    /**
     * A map that never changes, instead of a catalog's.
     *
     * <p>Moved shards are then out of reach: writes to them fail with {@link ShardFencedException}.
     */
    public ShardRouterBuilder map(ShardMap map) {
        this.staticMap = map;
        return this;
    }

    /**
     * A map that never changes, read from a file that {@link ShardMapFile} describes.
     *
     * @throws IllegalArgumentException if it is not a shard map
     */
    public ShardRouterBuilder mapFile(Path file) {
        try {
            return map(ShardMapFile.read(file));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the shard map in " + file, e);
        }
    }

    /**
     * Where to keep a copy of the catalog's map, to start with when the catalog is down. None is kept unless this is
     * called.
     */
    public ShardRouterBuilder cacheFile(Path file) {
        this.cacheFile = file;
        return this;
    }

    /** How often to ask the catalog for its version, besides being notified; 5 seconds if not said. */
    public ShardRouterBuilder pollInterval(Duration interval) {
        this.pollInterval = positive("poll interval", interval);
        return this;
    }

    /** How long to wait for work on a server that has left the map before its connections are cut; 30 seconds if not said. */
    public ShardRouterBuilder drainTimeout(Duration timeout) {
        this.drainTimeout = positive("drain timeout", timeout);
        return this;
    }

    /** How long to go on with work on a shard that is moving; {@link RetryPolicy#DEFAULT} if not said. */
    public ShardRouterBuilder retryPolicy(RetryPolicy policy) {
        this.retryPolicy = policy;
        return this;
    }

    /** How many connections to a server at most; 10 if not said. */
    public ShardRouterBuilder poolSize(int size) {
        this.poolSize = positive("pool size", size);
        return this;
    }

    /** How long to wait for a connection; 5 seconds if not said, at least 250 ms. */
    public ShardRouterBuilder connectionTimeout(Duration timeout) {
        if (timeout.toMillis() < 250) {
            throw new IllegalArgumentException("connection timeout is %s, allowed: 250 ms or more".formatted(timeout));
        }
        this.connectionTimeout = timeout;
        return this;
    }

    /**
     * How long a statement may take before its server ends it; 60 seconds if not said, zero for no limit.
     *
     * <p>A server that does not answer at all is given up 10 seconds later: the connection is lost then. A {@code
     * statement_timeout} in the options of a server's URL, and its {@code socketTimeout}, go first. Work that needs longer says {@code
     * SET LOCAL statement_timeout}, up to those 10 seconds.
     */
    public ShardRouterBuilder statementTimeout(Duration timeout) {
        if (timeout.isNegative() || (!timeout.isZero() && timeout.toMillis() == 0)) {
            throw new IllegalArgumentException(
                    "statement timeout is %s, allowed: 0, or 1 ms or more".formatted(timeout));
        }
        this.statementTimeout = timeout;
        return this;
    }

    /** How long {@link ShardRouter#close} waits for work that runs, before it cuts the connections; 30 seconds if not said. */
    public ShardRouterBuilder closeTimeout(Duration timeout) {
        if (timeout.isNegative()) {
            throw new IllegalArgumentException("close timeout is %s, allowed: 0 or more".formatted(timeout));
        }
        this.closeTimeout = timeout;
        return this;
    }

    /**
     * How many prepared statements the driver keeps per connection; 1000 if not said.
     *
     * <p>A statement is there once for every shard of the server that is used. Those used five times are kept by the server
     * too, some 10 to 100 kB each.
     */
    public ShardRouterBuilder cachedStatements(int statements) {
        this.cachedStatements = positive("cached statements", statements);
        return this;
    }

    /**
     * Who to log in as on all servers and the catalog, instead of the user in their URLs; a password may also be in {@code
     * ~/.pgpass}.
     */
    public ShardRouterBuilder credentials(String user, @Nullable String password) {
        this.login = new Login(user, password);
        return this;
    }

    /** Changes a server's pool before it is made, for whatever has no method here. */
    public ShardRouterBuilder customizePools(BiConsumer<Server, HikariConfig> customizer) {
        this.poolCustomizer = customizer;
        return this;
    }

    /** Adds somebody who hears what the router does. */
    public ShardRouterBuilder listener(RouterListener listener) {
        listeners.add(listener);
        return this;
    }

    /**
     * What runs reads over many shards, instead of threads of the router's own; the caller closes it. {@code
     * Executors.newVirtualThreadPerTaskExecutor()} will do.
     */
    public ShardRouterBuilder executor(ExecutorService executor) {
        this.executor = executor;
        return this;
    }

    /**
     * Loads the map and makes the router; connections to servers are opened when needed.
     *
     * @throws IllegalStateException if not exactly one of catalog and map was given
     * @throws org.shardflake.catalog.CatalogUnavailableException if the catalog cannot be reached and there is no cached
     *     map
     * @throws org.shardflake.catalog.CatalogMissingException if the catalog's database has no shard map
     */
    public ShardRouter build() {
        if ((catalog == null) == (staticMap == null)) {
            throw new IllegalStateException("a router needs a catalog or a map, and not both");
        }
        PoolSettings pools = new PoolSettings(
                poolSize, connectionTimeout, statementTimeout, cachedStatements, login, poolCustomizer);
        RouterListener listener = new RouterListeners(listeners);
        if (staticMap != null) {
            return started(new ShardRouter(
                    new StaticMapSource(staticMap),
                    pools,
                    retryPolicy,
                    listener,
                    drainTimeout,
                    closeTimeout,
                    executor));
        }
        CatalogMapSource maps = new CatalogMapSource(Objects.requireNonNull(catalog), login, pollInterval, cacheFile);
        ShardRouter router = new ShardRouter(maps, pools, retryPolicy, listener, drainTimeout, closeTimeout, executor);
        maps.start(router::mapChanged, router::openPools);
        return started(router);
    }

    private ShardRouter started(ShardRouter router) {
        try {
            listeners.forEach(listener -> listener.started(router));
            return router;
        } catch (RuntimeException e) {
            router.close();
            throw e;
        }
    }

    private static Duration positive(String what, Duration value) {
        if (value.isNegative() || value.isZero()) {
            throw new IllegalArgumentException("%s is %s, allowed: more than 0".formatted(what, value));
        }
        return value;
    }

    private static int positive(String what, int value) {
        if (value < 1) {
            throw new IllegalArgumentException("%s is %d, allowed: 1 or more".formatted(what, value));
        }
        return value;
    }
}
