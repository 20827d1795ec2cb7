/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Stream;

/**
 * Several PostgreSQL servers with {@code wal_level=logical}, started and stopped together.
 *
 * <pre>{@code
 * try (PostgresCluster cluster = PostgresCluster.start(2);
 *         Connection connection = cluster.server(0).connect()) {
 *     ...
 * }
 * }</pre>
 *
 * <p>The system properties {@code postgres.provider} (a {@link PostgresProvider}), {@code postgres.version} (15 to 18)
 * and {@code postgres.urls} (for existing servers), or the {@link Builder}, decide where the servers come from.
 *
 * <p>Thread-safe. The code that starts a cluster closes it. If the JVM ends first, normally, by Ctrl-C or by SIGTERM, a
 * shutdown hook closes it; only {@code kill -9} of the JVM leaves servers behind. Closing stops the servers and removes
 * their data.
 */
public final class PostgresCluster implements AutoCloseable {
    private final ServerProvider provider;
    private final Thread shutdownHook = new Thread(this::stopEverything, "postgres-cluster-shutdown");
    private volatile List<ClusterServer> servers = List.of();
    private final List<ClusterServer> standbys = new ArrayList<>();
    private boolean closed;

    private PostgresCluster(ServerProvider provider) {
        this.provider = provider;
    }

    /** Starts servers as configured by the system properties. */
    public static PostgresCluster start(int servers) {
        return builder().servers(servers).start();
    }

    /** A builder with the settings from the system properties. */
    public static Builder builder() {
        return new Builder();
    }

    /** Starts the provider's servers, or closes the provider if that fails. */
    static PostgresCluster start(ServerProvider provider, int servers) {
        PostgresCluster cluster = new PostgresCluster(provider);
        try {
            Runtime.getRuntime().addShutdownHook(cluster.shutdownHook);
            cluster.grow(servers);
            return cluster;
        } catch (RuntimeException | Error e) {
            try {
                cluster.close();
            } catch (RuntimeException suppressed) {
                e.addSuppressed(suppressed);
            }
            throw e;
        }
    }

    /** The servers, beginning with {@code db1}. */
    public List<PostgresServer> servers() {
        return List.copyOf(servers);
    }

    /** A server by its position, counted from 0. */
    public PostgresServer server(int index) {
        List<ClusterServer> all = servers;
        if (index < 0 || index >= all.size()) {
            throw new IndexOutOfBoundsException("server " + index + " is out of range 0.." + (all.size() - 1));
        }
        return all.get(index);
    }

    /**
     * Starts a hot standby of one of the servers, which the cluster closes too; for embedded servers only. It is named after
     * its primary, such as {@code db1_standby1}, and is not among {@link #servers()}.
     *
     * @throws UnsupportedOperationException if the server is not an embedded one
     */
    public synchronized PostgresStandby standbyOf(PostgresServer primary) {
        if (closed) {
            throw new PostgresClusterException("the cluster has been closed");
        }
        if (!(primary instanceof EmbeddedServer embedded)) {
            throw new UnsupportedOperationException("only embedded servers can have a standby, not " + primary);
        }
        EmbeddedStandby standby = embedded.newStandby(primary.name() + "_standby" + (standbys.size() + 1));
        standbys.add(standby);
        standby.open();
        return standby;
    }

    /**
     * Backs up an embedded server of a cluster with {@link Builder#archiving()}.
     *
     * @throws UnsupportedOperationException if the server is not an embedded one
     */
    public PostgresBackup backUp(PostgresServer server) {
        if (!(server instanceof EmbeddedServer embedded)) {
            throw new UnsupportedOperationException("only embedded servers can be backed up here, not " + server);
        }
        return EmbeddedBackup.take(embedded);
    }

    /** Starts more servers until there are {@code size}. If one fails, those that this call has started are removed. */
    public synchronized void grow(int size) {
        if (closed) {
            throw new PostgresClusterException("the cluster has been closed");
        }
        List<ClusterServer> before = servers;
        List<ClusterServer> added = new ArrayList<>();
        try {
            while (before.size() + added.size() < size) {
                added.add(provider.newServer("db" + (before.size() + added.size() + 1)));
            }
            startAll(added);
        } catch (RuntimeException | Error e) {
            closeAll(added).ifPresent(e::addSuppressed);
            throw e;
        }
        servers = Stream.concat(before.stream(), added.stream()).toList();
    }

    /** Stops the servers and removes their data; servers given by URL are left alone. Idempotent. */
    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(shutdownHook);
        } catch (IllegalStateException e) {
            // The JVM is ending, and the hook either waits for this method below or is done.
        }
        stopEverything();
    }

    /** Stops everything; the lock makes it wait for a start in progress, so that nothing starts afterwards. */
    private synchronized void stopEverything() {
        if (closed) {
            return;
        }
        closed = true;
        Optional<RuntimeException> failure =
                closeAll(Stream.concat(standbys.stream(), servers.stream()).toList());
        provider.close();
        failure.ifPresent(e -> {
            throw e;
        });
    }

    /** Starts servers in parallel and waits for all of them, even if one fails. */
    private static void startAll(List<ClusterServer> servers) {
        ExecutorService executor = Executors.newFixedThreadPool(4);
        try {
            CompletableFuture.allOf(servers.stream()
                            .map(server -> CompletableFuture.runAsync(server::open, executor))
                            .toArray(CompletableFuture<?>[]::new))
                    .join();
        } catch (CompletionException e) {
            throw new PostgresClusterException(
                    "cannot start the servers: " + causeOf(e).getMessage(), causeOf(e));
        } finally {
            executor.shutdown();
        }
    }

    /** Closes all servers; returns the first failure, with the others suppressed. */
    private static Optional<RuntimeException> closeAll(List<ClusterServer> servers) {
        RuntimeException first = null;
        for (ClusterServer server : servers) {
            try {
                server.close();
            } catch (RuntimeException e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        return Optional.ofNullable(first);
    }

    private static Throwable causeOf(CompletionException e) {
        return e.getCause() == null ? e : e.getCause();
    }

    /** Configures the servers to start; the system properties are the defaults. Not thread-safe. */
    public static final class Builder {
        private final Map<String, String> settings = new LinkedHashMap<>();
        private final Map<String, String> environment = new LinkedHashMap<>();
        private int servers = 2;
        private PostgresProvider provider = SystemProperties.provider();
        private OptionalInt version = SystemProperties.version();
        private List<String> urls = SystemProperties.urls();
        private boolean durable;

        private Builder() {}

        /** Sets the number of servers, 2 by default. */
        public Builder servers(int servers) {
            if (servers < 1) {
                throw new IllegalArgumentException("servers is " + servers + ", allowed: 1 or more");
            }
            this.servers = servers;
            return this;
        }

        /** Sets where the servers come from, instead of {@code postgres.provider}. */
        public Builder provider(PostgresProvider provider) {
            this.provider = provider;
            return this;
        }

        /**
         * Sets the PostgreSQL major version, instead of {@code postgres.version}. By default, embedded servers have the
         * version on the class path, and containers version 18. Servers given by URL may differ.
         */
        public Builder version(int version) {
            this.version = OptionalInt.of(SystemProperties.checkVersion(Integer.toString(version)));
            return this;
        }

        /** Sets JDBC or libpq URLs of running servers, instead of {@code postgres.urls}. */
        public Builder urls(List<String> urls) {
            this.urls = List.copyOf(urls);
            return this;
        }

        /** Adds a setting as in {@code postgresql.conf}, for all servers; servers given by URL keep their own. */
        public Builder setting(String name, String value) {
            settings.put(name, value);
            return this;
        }

        /** Archives the write-ahead logs of the servers, which must be embedded, for {@link #backUp}. */
        public Builder archiving() {
            settings.putAll(EmbeddedBackup.ARCHIVING);
            return this;
        }

        /** Adds an environment variable for all servers, which must be embedded. */
        public Builder environment(String name, String value) {
            environment.put(name, value);
            return this;
        }

        /** Sets whether commits survive a crash of the operating system, too (fsync), at the price of speed; false by default. */
        public Builder durable(boolean durable) {
            this.durable = durable;
            return this;
        }

        /**
         * Starts the servers, and returns when all accept connections.
         *
         * @throws PostgresClusterException if one cannot be started; those already started are stopped and removed
         */
        public PostgresCluster start() {
            Map<String, String> all = ServerSettings.of(durable, settings);
            return switch (provider) {
                case EMBEDDED -> PostgresCluster.start(new EmbeddedProvider(version, all, environment), servers);
                case EXTERNAL -> PostgresCluster.start(new ExternalProvider(urls), servers);
                case TESTCONTAINERS ->
                    PostgresCluster.start(
                            new ContainerProvider(version.orElse(SystemProperties.LATEST), all, servers), servers);
                case AUTO -> AutoProvider.start(servers, version, all, urls);
            };
        }
    }
}
