/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.pool;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.pool.HikariPool;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGProperty;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.Server;
import org.shardflake.ShardflakeException;
import org.shardflake.Sharding;
import org.shardflake.router.exception.AuthenticationFailedException;
import org.shardflake.router.exception.InterruptedWorkException;
import org.shardflake.router.exception.PoolExhaustedException;
import org.shardflake.router.exception.ServerUnavailableException;
import org.shardflake.router.exception.ShardSqlException;
import org.shardflake.router.health.PoolStatus;
import org.shardflake.router.internal.connection.ShardConnections;
import org.shardflake.router.internal.session.FenceWatch;
import org.shardflake.router.internal.session.FirstLogin;
import org.shardflake.router.internal.session.LeasedConnection;
import org.shardflake.router.internal.session.OldDatabase;
import org.shardflake.router.internal.session.ReadSamples;
import org.shardflake.router.internal.session.RouterLog;
import org.shardflake.router.internal.session.SessionPool;
import org.shardflake.router.internal.session.SqlFailure;
import org.shardflake.server.ServerUrl;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections to one server: a pool for its primary and, if its URL names several hosts, one for its replicas, created on first use or by
 * {@link #open}. Thread-safe.
 */
public final class ServerPool {

    private static final Logger LOG = LoggerFactory.getLogger(RouterLog.NAME);
    private static final long DRAIN_CHECK_MILLIS = 20;
    private static final int CANCEL_TIMEOUT_SECONDS = 1;
    /** The time that the driver waits for an answer after the server's own limit has passed. */
    private static final int ANSWER_SECONDS = 10;
    /**
     * The number of uses after which a statement is prepared; low, as the server plans cheaply only after further uses, counted per shard. A
     * text for one use isn't kept.
     */
    private static final int PREPARED_AT_USE = 2;
    /** The driver's limit for a connection's cached statement texts, in megabytes. */
    private static final int MOST_TEXT_MEGABYTES = 8;

    /** The name of the old database in health and metrics. */
    private static final String OLD_DATABASE = "old-database";

    private final Server server;
    private final PoolSettings settings;
    private final Runnable onFence;
    private final @Nullable OldDatabase old;
    private final ReentrantLock making = new ReentrantLock();
    private volatile @Nullable SessionPool primary;
    private volatile @Nullable SessionPool replicas;
    /** A pool for single statements inside a transaction, which must not wait for connections of other transactions. */
    private volatile @Nullable SessionPool sidePool;

    private boolean closed;

    /** @param onFence called when a statement was refused because its shard is fenced */
    ServerPool(Server server, PoolSettings settings, Runnable onFence) {
        this(server, settings, onFence, null);
    }

    private ServerPool(Server server, PoolSettings settings, Runnable onFence, @Nullable OldDatabase old) {
        this.server = server;
        this.settings = settings;
        this.onFence = onFence;
        this.old = old;
    }

    /** The connections to an old database that shards are leaving. */
    static ServerPool of(OldDatabase old, PoolSettings settings) {
        Server server = new Server(OLD_DATABASE, old.url().toString());
        return new ServerPool(server, settings, () -> {}, old);
    }

    public Server server() {
        return server;
    }

    /** Whether these connections lead to the old database. */
    public boolean isOld() {
        return old != null;
    }

    /** The schema of a shard in it. */
    public String schema(int shard) {
        return old == null ? Sharding.schema(shard) : old.schema();
    }

    /** Starts connecting to the primary in the background. A failure is reported to the first user. */
    void open() {
        try {
            pool(Access.WRITE, false);
        } catch (RuntimeException e) {
            LOG.debug("the pool of server {} could not be opened before its use", server.name(), e);
        }
    }

    /** Whether this pool's connections lead to another server's database as well. */
    boolean serves(Server other) {
        return server.name().equals(other.name()) && server.routerUrl().equals(other.routerUrl());
    }

    /**
     * A pooled connection for a shard, in auto-commit mode.
     *
     * @throws PoolClosedException if the server has left the map
     */
    public LeasedConnection connection(Access access, int shard) {
        return lend(pool(access, true), shard);
    }

    /**
     * A connection to the primary for one statement, in auto-commit mode, for a thread that may already hold one from {@link #connection}.
     * A thread that has one of these waits for no other connection, so threads cannot deadlock on them.
     */
    public LeasedConnection sideConnection(int shard) {
        SessionPool pool = sidePool;
        return lend(pool != null ? pool : makeAside(), shard);
    }

    private LeasedConnection lend(SessionPool pool, int shard) {
        try {
            return pool.lend(shard);
        } catch (SessionPool.UnpreparedException e) {
            throw new ShardSqlException(e.doing(), server.name(), e.getCause());
        } catch (SQLException e) {
            throw explain(pool, e);
        }
    }

    private SessionPool pool(Access access, boolean isForUse) {
        // Replicas cannot say that a shard has gone back to an old database.
        boolean wantsReplica = access == Access.REPLICA_READ && settings.oldDatabase() == null && hasReplicas();
        SessionPool pool = wantsReplica ? replicas : primary;
        return pool != null ? pool : make(wantsReplica, isForUse);
    }

    private boolean hasReplicas() {
        return old == null
                && server.routerUrl()
                        .substring("postgresql://".length())
                        .split("[/?]", 2)[0]
                        .contains(",");
    }

    private SessionPool makeAside() {
        making.lock();
        try {
            if (closed) {
                throw new PoolClosedException(server.name());
            }
            SessionPool made = sidePool;
            if (made == null) {
                PGSimpleDataSource source = source(false);
                FenceWatch watch = new FenceWatch(onFence);
                HikariConfig config = config(false, source, watch);
                config.setPoolName(config.getPoolName() + " aside");
                config.setMaximumPoolSize(Math.max(2, config.getMaximumPoolSize() / 2) + darkReaders());
                config.setMinimumIdle(0);
                made = sessions(connections(config), source, watch);
                sidePool = made;
            }
            return made;
        } finally {
            making.unlock();
        }
    }

    /** The number of connections that dark reads use, in addition to those of the application. */
    private int darkReaders() {
        OldDatabase its = settings.oldDatabase();
        return its == null || its.samples() == ReadSamples.NONE ? 0 : 1;
    }

    private SessionPool make(boolean forReplicas, boolean isForUse) {
        making.lock();
        try {
            if (closed) {
                throw new PoolClosedException(server.name());
            }
            SessionPool made = forReplicas ? replicas : primary;
            if (made == null) {
                made = make(forReplicas, source(forReplicas), isForUse);
                if (forReplicas) {
                    replicas = made;
                } else {
                    primary = made;
                }
            }
            return made;
        } finally {
            making.unlock();
        }
    }

    private SessionPool make(boolean forReplicas, PGSimpleDataSource source, boolean isForUse) {
        FenceWatch watch = new FenceWatch(onFence);
        HikariConfig config = config(forReplicas, source, watch);
        boolean isConnected = false;
        // With asked passwords only the pool is patient enough: it asks again after a refusal.
        if (config.getDataSource() == source
                && config.getUsername() == null
                && !settings.login().isAsked()) {
            FirstLogin login = new FirstLogin(source);
            config.setDataSource(login);
            isConnected = isForUse && logsIn(login, source);
        }
        return sessions(isConnected ? startConnected(config) : connections(config), source, watch);
    }

    private SessionPool sessions(ShardConnections connections, PGSimpleDataSource source, FenceWatch watch) {
        return new SessionPool(
                server.name(), connections, source, watch, isPooled(), settings.oldDatabase() != null, old);
    }

    private ShardConnections connections(HikariConfig config) {
        return new ShardConnections(config, !isPooled());
    }

    /** Whether a pooler is between the router and the server. */
    private boolean isPooled() {
        return server.applicationUrl().isPresent();
    }

    /** Starts a pool that opens its first connection in this thread rather than in the background, unless configured otherwise. */
    private ShardConnections startConnected(HikariConfig config) {
        if (config.getInitializationFailTimeout() >= 0 || config.getMinimumIdle() == 0) {
            return connections(config);
        }
        try {
            config.setInitializationFailTimeout(0);
            return connections(config);
        } catch (HikariPool.PoolInitializationException e) {
            config.setInitializationFailTimeout(-1); // It could not be set up, which may pass.
            return connections(config);
        }
    }

    /** Tries a first login, which the pool would retry until its timeout; false if the server cannot be reached. */
    private boolean logsIn(FirstLogin login, PGSimpleDataSource source) {
        try {
            source.setLoginTimeout(
                    (int) Math.max(1, settings.connectionTimeout().toSeconds()));
            login.open();
            return true;
        } catch (SQLException e) {
            if (SqlFailure.isLoginRefused(e)) {
                throw new AuthenticationFailedException(server.name(), user(source), e);
            }
            return false; // The server may be back while the pool waits for it.
        }
    }

    private static String user(PGSimpleDataSource source) {
        return Objects.requireNonNullElse(source.getUser(), System.getProperty("user.name"));
    }

    private HikariConfig config(boolean forReplicas, PGSimpleDataSource source, FenceWatch watch) {
        HikariConfig config = new HikariConfig();
        config.setPoolName("shardflake " + server.name() + (forReplicas ? " replicas" : ""));
        config.setDataSource(source);
        config.setMaximumPoolSize(settings.size());
        config.setConnectionTimeout(settings.connectionTimeout().toMillis());
        // The server may be down now, which must not affect shards on other servers.
        config.setInitializationFailTimeout(-1);
        config.setExceptionOverride(watch);
        config.setValidationTimeout(Math.min(
                config.getValidationTimeout(), settings.connectionTimeout().toMillis()));
        settings.customizer().accept(server, config);
        // HikariCP sets them only on a data source that it makes itself.
        for (String property : config.getDataSourceProperties().stringPropertyNames()) {
            setProperty(source, property, config.getDataSourceProperties().getProperty(property));
        }
        return config;
    }

    private static void setProperty(PGSimpleDataSource source, String property, String value) {
        try {
            source.setProperty(property, value);
        } catch (SQLException e) {
            throw new IllegalArgumentException(
                    "the driver has no property %s, or cannot take \"%s\" for it".formatted(property, value), e);
        }
    }

    private PGSimpleDataSource source(boolean forReplicas) {
        PGSimpleDataSource source = login();
        if (hasReplicas()) {
            source.setTargetServerType(forReplicas ? "preferSecondary" : "primary");
            source.setLoadBalanceHosts(forReplicas);
        }
        limit(source);
        source.setTcpKeepAlive(true);
        source.setCancelSignalTimeout(CANCEL_TIMEOUT_SECONDS);
        // Each shard has its own copy of every statement, so the driver's default of 256 would evict each before its
        // reuse.
        if (isDefault(PGProperty.PREPARED_STATEMENT_CACHE_QUERIES, source.getPreparedStatementCacheQueries())) {
            source.setPreparedStatementCacheQueries(settings.cachedStatements());
            source.setPreparedStatementCacheSizeMiB(MOST_TEXT_MEGABYTES);
        }
        if (isDefault(PGProperty.PREPARE_THRESHOLD, source.getPrepareThreshold())) {
            source.setPrepareThreshold(PREPARED_AT_USE);
        }
        return source;
    }

    /** A data source for the server; the old database's URL may have another login. */
    private PGSimpleDataSource login() {
        if (old == null) {
            return settings.login().source(ServerUrl.parse(server.routerUrl()));
        }
        PGSimpleDataSource own = old.url().dataSource();
        return own.getPassword() == null ? settings.login().source(old.url()) : own;
    }

    private static boolean isDefault(PGProperty property, int value) {
        return value == Integer.parseInt(String.valueOf(property.getDefaultValue()));
    }

    /**
     * Makes the server end statements that take too long, and the driver give up a silent server some time later. A pooler refuses or ignores the
     * server's part, so behind a URL for applications that is for their role's settings.
     */
    private void limit(PGSimpleDataSource source) {
        Duration limit = settings.statementTimeout();
        if (limit.isZero()) {
            return;
        }
        String options = Objects.requireNonNullElse(source.getOptions(), "");
        if (!isPooled() && !options.contains("statement_timeout")) {
            source.setOptions((options + " -c statement_timeout=" + limit.toMillis()).trim());
        }
        if (source.getSocketTimeout() == 0) {
            source.setSocketTimeout((int) Math.min(Integer.MAX_VALUE / 1000, limit.toSeconds() + ANSWER_SECONDS));
        }
    }

    private RuntimeException explain(SessionPool pool, SQLException e) {
        if (e.getCause() instanceof InterruptedException) {
            return new InterruptedWorkException("a connection to server " + server.name(), e);
        }
        ShardConnections connections = pool.connections();
        if (connections.isClosed()) {
            return new PoolClosedException(server.name());
        }
        if (connections.active() >= connections.size()) {
            return new PoolExhaustedException(
                    server.name(), connections.size(), connections.waiting(), connections.timeout(), e);
        }
        Throwable reason = e.getCause() == null ? e : e.getCause();
        return SqlFailure.isLoginRefused(e)
                ? new AuthenticationFailedException(server.name(), pool.user(), reason)
                : new ServerUnavailableException(server.name(), server.routerUrl(), reason);
    }

    /**
     * The first of these shards whose schema the server lacks, if any.
     *
     * @param isInside whether the thread may have a connection from {@link #connection}
     */
    public OptionalInt lacks(List<Integer> shards, boolean isInside) {
        if (old != null) {
            return OptionalInt.empty(); // It says so itself.
        }
        try (Connection connection = isInside
                        ? sideConnection(LeasedConnection.MANY_SHARDS)
                        : connection(Access.READ, LeasedConnection.MANY_SHARDS);
                PreparedStatement look = connection.prepareStatement("""
                        SELECT shard FROM ROWS FROM (pg_catalog.unnest(?::pg_catalog.text[]), pg_catalog.unnest(?::integer[])) asked (name, shard)
                         WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname OPERATOR(pg_catalog.=) asked.name) LIMIT 1
                        """)) {
            look.setObject(1, shards.stream().map(Sharding::schema).toArray(String[]::new));
            look.setObject(2, shards.toArray(Integer[]::new));
            try (ResultSet row = look.executeQuery()) {
                return row.next() ? OptionalInt.of(row.getInt(1)) : OptionalInt.empty();
            }
        } catch (SQLException | ShardflakeException e) {
            LOG.debug("server {} does not say which shards it has", server.name(), e);
            return OptionalInt.empty();
        }
    }

    /** The state of the primary's pool; zeros if it has not been used yet. */
    public PoolStatus status() {
        SessionPool pool = primary;
        if (pool == null) {
            return new PoolStatus(server.name(), 0, 0, 0, settings.size());
        }
        ShardConnections connections = pool.connections();
        return new PoolStatus(
                server.name(), connections.active(), connections.idle(), connections.waiting(), settings.size());
    }

    /** Closes the pools once their connections are back, or after the timeout. Blocks until then. */
    void drain(Duration timeout) {
        List<ShardConnections> pools = takePools();
        long start = System.nanoTime();
        try {
            for (ShardConnections pool : pools) {
                while (isBusy(pool) && System.nanoTime() - start < timeout.toNanos()) {
                    Thread.sleep(DRAIN_CHECK_MILLIS);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            pools.forEach(ShardConnections::close);
            LOG.info("closed the connections to server {}", server.name());
        }
    }

    /** Closes the pools now. */
    void close() {
        takePools().forEach(ShardConnections::close);
    }

    private List<ShardConnections> takePools() {
        making.lock();
        try {
            closed = true;
            return pools();
        } finally {
            making.unlock();
        }
    }

    private List<ShardConnections> pools() {
        return Stream.of(Optional.ofNullable(primary), Optional.ofNullable(replicas), Optional.ofNullable(sidePool))
                .flatMap(Optional::stream)
                .map(SessionPool::connections)
                .toList();
    }

    /** Whether connections are in use or awaited. */
    boolean isBusy() {
        return pools().stream().anyMatch(ServerPool::isBusy);
    }

    private static boolean isBusy(ShardConnections pool) {
        return pool.active() > 0 || pool.waiting() > 0;
    }
}
