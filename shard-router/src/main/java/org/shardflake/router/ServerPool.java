/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGProperty;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.Server;
import org.shardflake.server.ServerUrl;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections to one server: a pool for its primary and, where its URL names several hosts, one for its replicas,
 * made on first use or by {@link #open}. Thread-safe.
 */
final class ServerPool {

    private static final Logger LOG = LoggerFactory.getLogger(ShardRouter.class);
    private static final long DRAIN_CHECK_MILLIS = 20;
    private static final int CANCEL_TIMEOUT_SECONDS = 1;

    private final Server server;
    private final PoolSettings settings;
    private final Runnable onFence;
    private final ReentrantLock making = new ReentrantLock();
    private volatile @Nullable HikariDataSource primary;
    private volatile @Nullable HikariDataSource replicas;
    private boolean closed;

    /** @param onFence called when a statement was refused because its shard is fenced */
    ServerPool(Server server, PoolSettings settings, Runnable onFence) {
        this.server = server;
        this.settings = settings;
        this.onFence = onFence;
    }

    Server server() {
        return server;
    }

    /** Begins to connect to the primary, in the background. What is in the way, its first user is told. */
    void open() {
        try {
            pool(Access.WRITE);
        } catch (RuntimeException e) {
            LOG.debug("the pool of server {} could not be opened before its use", server.name(), e);
        }
    }

    /** Whether connections made for one of these servers are good for the other. */
    boolean serves(Server other) {
        return server.name().equals(other.name()) && server.url().equals(other.url());
    }

    /**
     * A pooled connection, in auto-commit mode.
     *
     * @throws PoolClosedException if the server has left the map
     */
    Connection connection(Access access) {
        HikariDataSource pool = pool(access);
        try {
            return pool.getConnection();
        } catch (SQLException e) {
            throw explain(pool, e);
        }
    }

    private HikariDataSource pool(Access access) {
        boolean wantsReplica = access == Access.REPLICA_READ && hasReplicas();
        HikariDataSource pool = wantsReplica ? replicas : primary;
        return pool != null ? pool : make(wantsReplica);
    }

    private boolean hasReplicas() {
        return server.url()
                .substring("postgresql://".length())
                .split("[/?]", 2)[0]
                .contains(",");
    }

    private HikariDataSource make(boolean forReplicas) {
        making.lock();
        try {
            if (closed) {
                throw new PoolClosedException(server.name());
            }
            HikariDataSource made = forReplicas ? replicas : primary;
            if (made == null) {
                made = new HikariDataSource(config(forReplicas));
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

    private HikariConfig config(boolean forReplicas) {
        HikariConfig config = new HikariConfig();
        config.setPoolName("shardflake " + server.name() + (forReplicas ? " replicas" : ""));
        PGSimpleDataSource source = source(forReplicas);
        config.setDataSource(source);
        config.setMaximumPoolSize(settings.size());
        config.setConnectionTimeout(settings.connectionTimeout().toMillis());
        // The server may be down now; other servers' shards are none the worse for it.
        config.setInitializationFailTimeout(-1);
        config.setExceptionOverride(new FenceWatch(onFence));
        settings.customizer().accept(server, config);
        // HikariCP would set them only on a data source that it makes itself.
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
        PGSimpleDataSource source = ServerUrl.parse(server.url()).dataSource();
        if (settings.user() != null) {
            source.setUser(settings.user());
            source.setPassword(settings.password());
        }
        if (hasReplicas()) {
            source.setTargetServerType(forReplicas ? "preferSecondary" : "primary");
            source.setLoadBalanceHosts(forReplicas);
        }
        source.setTcpKeepAlive(true);
        source.setCancelSignalTimeout(CANCEL_TIMEOUT_SECONDS);
        // Every statement is there once a shard, so the driver's default of 256 would never see one again.
        if (source.getPreparedStatementCacheQueries()
                == Integer.parseInt(String.valueOf(PGProperty.PREPARED_STATEMENT_CACHE_QUERIES.getDefaultValue()))) {
            source.setPreparedStatementCacheQueries(settings.cachedStatements());
            source.setPreparedStatementCacheSizeMiB(Math.max(5, settings.cachedStatements() / 100));
        }
        return source;
    }

    private RuntimeException explain(HikariDataSource pool, SQLException e) {
        if (pool.isClosed()) {
            return new PoolClosedException(server.name());
        }
        HikariPoolMXBean state = pool.getHikariPoolMXBean();
        if (state != null && state.getActiveConnections() >= pool.getMaximumPoolSize()) {
            return new PoolExhaustedException(
                    server.name(),
                    pool.getMaximumPoolSize(),
                    state.getThreadsAwaitingConnection(),
                    Duration.ofMillis(pool.getConnectionTimeout()),
                    e);
        }
        Throwable reason = e.getCause() == null ? e : e.getCause();
        return new ServerUnavailableException(server.name(), server.url(), reason);
    }

    /** What the primary's pool is doing; zeros when it was not needed yet. */
    PoolStatus status() {
        HikariDataSource pool = primary;
        HikariPoolMXBean state = pool == null ? null : pool.getHikariPoolMXBean();
        return state == null
                ? new PoolStatus(server.name(), 0, 0, 0, settings.size())
                : new PoolStatus(
                        server.name(),
                        state.getActiveConnections(),
                        state.getIdleConnections(),
                        state.getThreadsAwaitingConnection(),
                        settings.size());
    }

    /** Cancels the statement that runs on a connection now, and closes the connection; for another thread. */
    void cancel(Connection connection, Access access) {
        try {
            connection.unwrap(PGConnection.class).cancelQuery();
            // PostgreSQL acts on a cancel some time after it was sent, so whatever came next here would be in danger
            // too.
            pool(access).evictConnection(connection);
        } catch (SQLException | PoolClosedException e) {
            // A server that cannot be reached, or has left the map, will not go on for long either.
        }
    }

    /** Closes the pools once their connections were given back, or after the time given. Blocks until then. */
    void drain(Duration timeout) {
        List<HikariDataSource> pools = takePools();
        long start = System.nanoTime();
        try {
            for (HikariDataSource pool : pools) {
                while (isBusy(pool) && System.nanoTime() - start < timeout.toNanos()) {
                    Thread.sleep(DRAIN_CHECK_MILLIS);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            pools.forEach(HikariDataSource::close);
            LOG.info("closed the connections to server {}", server.name());
        }
    }

    /** Closes the pools now. */
    void close() {
        takePools().forEach(HikariDataSource::close);
    }

    private List<HikariDataSource> takePools() {
        making.lock();
        try {
            closed = true;
            List<HikariDataSource> pools = new ArrayList<>();
            if (primary != null) {
                pools.add(primary);
            }
            if (replicas != null) {
                pools.add(replicas);
            }
            return pools;
        } finally {
            making.unlock();
        }
    }

    private static boolean isBusy(HikariDataSource pool) {
        HikariPoolMXBean state = pool.getHikariPoolMXBean();
        return state != null && (state.getActiveConnections() > 0 || state.getThreadsAwaitingConnection() > 0);
    }
}
