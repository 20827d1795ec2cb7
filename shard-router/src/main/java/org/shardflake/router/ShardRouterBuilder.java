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
import org.postgresql.PGProperty;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.catalog.ShardMapFile;
import org.shardflake.router.exception.ShardFencedException;
import org.shardflake.router.internal.map.CatalogMapSource;
import org.shardflake.router.internal.map.Login;
import org.shardflake.router.internal.map.StaticMapSource;
import org.shardflake.router.internal.map.TimedPasswords;
import org.shardflake.router.internal.pool.PoolSettings;
import org.shardflake.router.internal.session.OldDatabase;
import org.shardflake.router.internal.session.ReadSamples;
import org.shardflake.server.PasswordSource;
import org.shardflake.server.ServerUrl;

/** Builds a {@link ShardRouter}. Only a catalog, a file or a map is required. Not thread-safe. */
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
    private int cachedStatements = 4000;
    private @Nullable String user;
    private @Nullable String password;
    private @Nullable PasswordSource passwords;
    private BiConsumer<Server, HikariConfig> poolCustomizer = (server, config) -> {};
    private final List<RouterListener> listeners = new ArrayList<>();
    private @Nullable ExecutorService executor;
    private @Nullable OldDatabase oldDatabase;
    private double darkReads;
    private Duration darkReadLag = Duration.ZERO;

    ShardRouterBuilder() {}

    /** Follows the shard map of the catalog in a database, given as {@code postgresql://user@host/database}. */
    public ShardRouterBuilder catalog(String url) {
        return catalog(ServerUrl.parse(url));
    }

    /** Follows the shard map of the catalog in this database. */
    public ShardRouterBuilder catalog(ServerUrl url) {
        this.catalog = url;
        return this;
    }

    /**
     * Uses a map that never changes, instead of a catalog's.
     *
     * <p>Shards that move are then out of reach: writes to them fail with {@link ShardFencedException}.
     */
    public ShardRouterBuilder map(ShardMap map) {
        this.staticMap = map;
        return this;
    }

    /**
     * Uses a map that never changes, read from a file in the format of {@link ShardMapFile}.
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
     * Sets where to keep a copy of the catalog's map, for starting while the catalog is down. By default none is kept.
     */
    public ShardRouterBuilder cacheFile(Path file) {
        this.cacheFile = file;
        return this;
    }

    /** Sets how often to ask the catalog for its version, in addition to notifications; 5 seconds by default. */
    public ShardRouterBuilder pollInterval(Duration interval) {
        this.pollInterval = positive("poll interval", interval);
        return this;
    }

    /** Sets how long work on a server that has left the map may continue before its connections are cut; 30 seconds by default. */
    public ShardRouterBuilder drainTimeout(Duration timeout) {
        this.drainTimeout = positive("drain timeout", timeout);
        return this;
    }

    /** Sets the limits on retrying work on a shard that is moving; {@link RetryPolicy#DEFAULT} by default. */
    public ShardRouterBuilder retryPolicy(RetryPolicy policy) {
        this.retryPolicy = policy;
        return this;
    }

    /** Sets the maximum number of connections to a server; 10 by default. */
    public ShardRouterBuilder poolSize(int size) {
        this.poolSize = positive("pool size", size);
        return this;
    }

    /** Sets how long to wait for a connection: at least 250 ms, 5 seconds by default. */
    public ShardRouterBuilder connectionTimeout(Duration timeout) {
        if (timeout.toMillis() < 250) {
            throw new IllegalArgumentException("connection timeout is %s, allowed: 250 ms or more".formatted(timeout));
        }
        this.connectionTimeout = timeout;
        return this;
    }

    /**
     * Sets how long a statement may take before its server ends it; 60 seconds by default, zero for no limit.
     *
     * <p>If a server does not answer at all, its connection is dropped 10 seconds later. A {@code statement_timeout} in
     * the options of a server's URL, and its {@code socketTimeout}, take precedence. Work that needs longer can
     * {@code SET LOCAL statement_timeout}, up to those 10 seconds.
     */
    public ShardRouterBuilder statementTimeout(Duration timeout) {
        if (timeout.isNegative() || (!timeout.isZero() && timeout.toMillis() == 0)) {
            throw new IllegalArgumentException(
                    "statement timeout is %s, allowed: 0, or 1 ms or more".formatted(timeout));
        }
        this.statementTimeout = timeout;
        return this;
    }

    /**
     * Sets how long {@link ShardRouter#close} waits for running work before it cuts the connections; 30 seconds by
     * default.
     */
    public ShardRouterBuilder closeTimeout(Duration timeout) {
        if (timeout.isNegative()) {
            throw new IllegalArgumentException("close timeout is %s, allowed: 0 or more".formatted(timeout));
        }
        this.closeTimeout = timeout;
        return this;
    }

    /**
     * Sets how many prepared statements the driver keeps per connection; 4000 by default.
     *
     * <p>Each statement counts once for every shard that uses it on this connection. The server also keeps those used
     * twice, some 10 to 100 kB each.
     */
    public ShardRouterBuilder cachedStatements(int statements) {
        this.cachedStatements = positive("cached statements", statements);
        return this;
    }

    /**
     * Sets the login for all servers and the catalog, instead of the user in their URLs; a password may also be in
     * {@code ~/.pgpass}.
     */
    public ShardRouterBuilder credentials(String user, @Nullable String password) {
        this.user = user;
        this.password = password;
        return this;
    }

    /**
     * Sets a source of passwords for all servers and the catalog, which is asked at each new connection. It replaces passwords in URLs;
     * the user is that of {@link #credentials(String, String)}, called with null for the password, or else of each URL.
     *
     * <p>A call of the source is given up after 10 seconds, as if it had failed. A connection whose password the server refuses is tried
     * again, with another one, until the connection timeout ends.
     */
    public ShardRouterBuilder credentials(PasswordSource passwords) {
        this.passwords = passwords;
        return this;
    }

    /**
     * Sends work on shards that are still in an old database there, while {@code shardflake adopt cutover} moves them out one by one. By
     * default the router knows of no old database.
     *
     * <p>Work given to {@link ShardRouter#write write}, {@link ShardRouter#read read} or {@link ShardRouter#attempt attempt} runs in a transaction
     * that keeps its shard there until it ends; the schema below stands for that of the shard, also first in the search_path. If the shard has
     * left, the work is run again on its server, and that is remembered. If that server refuses it, the old database is asked again. Reads of a
     * replica go to the primary. A transaction that changes a row of another shard, which has left, fails with SQLSTATE {@code SF001}, and is not run
     * again.
     *
     * <p>Connections outside such work, reads over many shards, lookups, reference tables and {@link ShardRouter#anyShard} are refused with an
     * {@link IllegalStateException}, also after all shards have left. Then build the router without this.
     *
     * <p>The login is that of the servers, unless the URL has a password. The pool is of the same size as each server's; health, metrics and
     * {@link #customizePools} know it as {@code old-database}.
     *
     * @param url {@code postgresql://user@host/database}, of the database itself: not of a pooler that shares sessions
     * @param schema where its tables are: 1 to 63 of {@code a-z 0-9 _}
     * @throws IllegalArgumentException if the URL or the name cannot be used
     */
    public ShardRouterBuilder oldDatabase(String url, String schema) {
        this.oldDatabase = new OldDatabase(ServerUrl.parse(url), schema, shard -> {}, ReadSamples.NONE);
        return this;
    }

    /**
     * Runs a share of the transactions that only read, and that the {@linkplain #oldDatabase old database} has answered, again: there and in the shard's
     * server, whose rows {@code shardflake adopt run} has copied. {@link RouterListener#darkReadEnded} has the outcomes. Not done by default.
     *
     * <p>The application has its answer before, and never waits. Statements run once more on both sides, in read-only transactions, one after the other,
     * for at most some seconds, on separate connections. Rows are compared by their texts, in any order; columns that only the shard has don't count.
     *
     * @param share from 0 to 1
     * @param lag how far the copy may be behind: rows that differ are looked at again after this time
     */
    public ShardRouterBuilder darkReads(double share, Duration lag) {
        if (!(share >= 0 && share <= 1)) {
            throw new IllegalArgumentException("share of dark reads is %s, allowed: 0 to 1".formatted(share));
        }
        this.darkReads = share;
        this.darkReadLag = positive("lag of dark reads", lag);
        return this;
    }

    /**
     * Customizes a server's pool before it is created, for settings without a method here; several customizers run in the order of the calls.
     */
    public ShardRouterBuilder customizePools(BiConsumer<Server, HikariConfig> customizer) {
        this.poolCustomizer = poolCustomizer.andThen(customizer);
        return this;
    }

    /**
     * Sets a property of PostgreSQL's JDBC driver for the pools' connections, such as {@code reWriteBatchedInserts}.
     *
     * @throws IllegalArgumentException if the driver has no property of this name
     */
    public ShardRouterBuilder driverProperty(String name, String value) {
        if (PGProperty.forName(name) == null) {
            throw new IllegalArgumentException("the driver has no property %s".formatted(name));
        }
        return customizePools((server, config) -> config.addDataSourceProperty(name, value));
    }

    /** Adds a listener to the router's events. */
    public ShardRouterBuilder listener(RouterListener listener) {
        listeners.add(listener);
        return this;
    }

    /**
     * Runs reads over many shards on an executor instead of the router's own threads; the caller closes it.
     * {@code Executors.newVirtualThreadPerTaskExecutor()} will do.
     */
    public ShardRouterBuilder executor(ExecutorService executor) {
        this.executor = executor;
        return this;
    }

    /**
     * Loads the map and creates the router, which connects to servers when needed.
     *
     * @throws IllegalStateException if not exactly one of catalog and map was given, or both a password and a source of passwords, or dark reads
     *     without an old database
     * @throws org.shardflake.catalog.CatalogUnavailableException if the catalog cannot be reached and there is no cached
     *     map
     * @throws org.shardflake.catalog.CatalogMissingException if the catalog's database has no shard map
     */
    public ShardRouter build() {
        if ((catalog == null) == (staticMap == null)) {
            throw new IllegalStateException("a router needs a catalog or a map, and not both");
        }
        if (password != null && passwords != null) {
            throw new IllegalStateException(
                    "a router takes a password or a source of passwords, and not both; give credentials(user, null) for the user");
        }
        if (darkReads > 0 && oldDatabase == null) {
            throw new IllegalStateException("dark reads need an old database; give its URL by oldDatabase");
        }
        RouterListener listener = new RouterListeners(listeners);
        DarkReads dark = darkReads > 0 ? new DarkReads(darkReads, darkReadLag, listener) : null;
        OldDatabase old = oldDatabase == null || dark == null ? oldDatabase : oldDatabase.sampling(dark);
        Login login = new Login(user, password, passwords == null ? null : new TimedPasswords(passwords));
        PoolSettings pools = new PoolSettings(
                poolSize, connectionTimeout, statementTimeout, cachedStatements, login, poolCustomizer, old);
        if (staticMap != null) {
            return started(new ShardRouter(
                    new StaticMapSource(staticMap),
                    pools,
                    retryPolicy,
                    listener,
                    drainTimeout,
                    closeTimeout,
                    executor,
                    dark));
        }
        CatalogMapSource maps = new CatalogMapSource(Objects.requireNonNull(catalog), login, pollInterval, cacheFile);
        ShardRouter router =
                new ShardRouter(maps, pools, retryPolicy, listener, drainTimeout, closeTimeout, executor, dark);
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
            throw new IllegalArgumentException("%s is %s, allowed: 1 or more".formatted(what, value));
        }
        return value;
    }
}
