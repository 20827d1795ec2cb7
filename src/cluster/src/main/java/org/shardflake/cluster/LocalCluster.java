/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;

/**
 * Embedded servers that keep their ports and data in a directory until the directory is removed. They keep running when this JVM ends. Not
 * thread-safe; two processes that start or stop the same cluster wait for each other.
 */
public final class LocalCluster {

    private static final int MAX_SERVERS = 16;

    private final Path directory;
    private final Path ports;

    private LocalCluster(Path directory) {
        this.directory = directory;
        this.ports = directory.resolve("ports.properties");
    }

    /** The cluster in a directory, which need not exist yet. */
    public static LocalCluster in(Path directory) {
        return new LocalCluster(directory.toAbsolutePath().normalize());
    }

    /** The directory of the cluster's files. */
    public Path directory() {
        return directory;
    }

    /** Whether the cluster was ever started. */
    public boolean exists() {
        return Files.isRegularFile(ports);
    }

    /** The servers of this cluster, running or not, by name. */
    public List<LocalServer> servers() {
        List<LocalServer> servers = new ArrayList<>();
        readPorts()
                .forEach((name, port) ->
                        servers.add(new LocalServer(name, port, EmbeddedServer.isRunning(directory.resolve(name)))));
        return servers;
    }

    /**
     * Starts the servers, and creates those that do not exist yet.
     *
     * @param count the minimum number of servers, 1..16
     * @throws PostgresClusterException if one does not start; those that did keep running
     */
    public void start(int count) {
        start(count, created -> {});
    }

    /**
     * Starts servers like {@link #start(int)}, with a callback.
     *
     * @param starting told, before it takes a while, how many servers are to be created
     */
    public void start(int count, IntConsumer starting) {
        if (count < 1 || count > MAX_SERVERS) {
            throw new IllegalArgumentException("servers %s is out of range 1..%s".formatted(count, MAX_SERVERS));
        }
        locked(() -> {
            Map<String, Integer> all = readPorts();
            if (all.size() < count || servers().stream().anyMatch(server -> !server.isRunning())) {
                starting.accept(Math.max(0, count - all.size()));
            }
            for (int i = 1; i <= count; i++) {
                all.computeIfAbsent("db" + i, name -> Ports.free());
            }
            writePorts(all);
            each(all, EmbeddedServer::open);
        });
    }

    /** Stops all servers; their data stays. */
    public void stop() {
        if (exists()) {
            locked(() -> each(readPorts(), EmbeddedServer::stop));
        }
    }

    private interface Action {
        void run(EmbeddedServer server);
    }

    /** Runs an action on all servers concurrently, since a stopping server waits for its followers. */
    private void each(Map<String, Integer> servers, Action action) {
        EmbeddedBinaries binaries = EmbeddedBinaries.unpack();
        List<CompletableFuture<Void>> running = servers.entrySet().stream()
                .map(server -> new EmbeddedServer(
                        server.getKey(),
                        binaries,
                        directory.resolve(server.getKey()),
                        server.getValue(),
                        OptionalInt.empty(),
                        ServerSettings.of(true, Map.of()),
                        Map.of()))
                .map(server -> CompletableFuture.runAsync(() -> action.run(server)))
                .collect(Collectors.toList());
        try {
            CompletableFuture.allOf(running.toArray(CompletableFuture[]::new)).join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof PostgresClusterException failure) {
                throw failure;
            }
            throw e;
        }
    }

    private void locked(Runnable work) {
        try {
            Files.createDirectories(directory);
            try (FileChannel file = FileChannel.open(
                            directory.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    FileLock lock = file.lock()) {
                work.run();
            }
        } catch (IOException e) {
            throw new PostgresClusterException(
                    "cannot write to " + directory + ": " + PostgresClusterException.reason(e), e);
        }
    }

    private Map<String, Integer> readPorts() {
        Map<String, Integer> read = new TreeMap<>();
        if (exists()) {
            Properties properties = new Properties();
            try (Reader reader = Files.newBufferedReader(ports)) {
                properties.load(reader);
            } catch (IOException e) {
                throw new PostgresClusterException(
                        "cannot read " + ports + ": " + PostgresClusterException.reason(e), e);
            }
            properties.forEach((name, port) -> read.put(name.toString(), Integer.valueOf(port.toString())));
        }
        return read;
    }

    private void writePorts(Map<String, Integer> all) {
        Properties properties = new Properties();
        all.forEach((name, port) -> properties.setProperty(name, port.toString()));
        try (Writer writer = Files.newBufferedWriter(ports)) {
            properties.store(writer, "The ports of these servers, which a shard map may name");
        } catch (IOException e) {
            throw new PostgresClusterException("cannot write " + ports + ": " + PostgresClusterException.reason(e), e);
        }
    }
}
