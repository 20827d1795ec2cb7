/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;

/**
 * The stopped embedded servers of a cluster, whose data other clusters start with.
 *
 * <p>Tests that crash and promote servers each need a cluster of their own, and copying one is cheaper than installing Shardflake again. A copied server has the system identifier of its original, so the copies of one server do not belong in one
 * installation. The saved data lives as long as the JVM. Thread-safe.
 */
public final class SavedServers {

    private final List<EmbeddedServer> servers;

    private SavedServers(List<EmbeddedServer> servers) {
        this.servers = servers;
    }

    /**
     * Stops a cluster's servers for good, to copy their data.
     *
     * @throws UnsupportedOperationException if they are not embedded ones
     */
    public static SavedServers of(PostgresCluster cluster) {
        List<EmbeddedServer> servers =
                cluster.servers().stream().map(SavedServers::embedded).toList();
        servers.forEach(EmbeddedServer::stop);
        return new SavedServers(servers);
    }

    private static EmbeddedServer embedded(PostgresServer server) {
        if (server instanceof EmbeddedServer embedded) {
            return embedded;
        }
        throw new UnsupportedOperationException("only embedded servers can be copied, not " + server);
    }

    /** Starts copies of all servers, on other ports. */
    public PostgresCluster start() {
        try {
            Path original = Objects.requireNonNull(servers.get(0).directory().getParent());
            return PostgresCluster.start(
                    new Copies(Files.createTempDirectory(
                            Objects.requireNonNull(original.getParent()), "shardflake-cluster-")),
                    servers.size());
        } catch (IOException e) {
            throw new PostgresClusterException("cannot make a temporary directory: " + e, e);
        }
    }

    private final class Copies implements ServerProvider {
        private final EmbeddedBinaries binaries = EmbeddedBinaries.unpack();
        private final Path directory;

        Copies(Path directory) {
            this.directory = directory;
        }

        @Override
        public ClusterServer newServer(String name) {
            EmbeddedServer original = servers.stream()
                    .filter(server -> server.name().equals(name))
                    .findFirst()
                    .orElseThrow(() -> new PostgresClusterException("no server " + name + " was saved"));
            int port = Ports.free();
            EmbeddedServer copy = new EmbeddedServer(
                    name, binaries, directory.resolve(name), port, OptionalInt.empty(), Map.of(), Map.of());
            try {
                Files.createDirectories(copy.directory());
                Directories.copy(original.data(), copy.data());
                StringBuilder configuration = new StringBuilder();
                EmbeddedServer.append(configuration, "port", Integer.toString(port));
                Files.writeString(copy.data().resolve("postgresql.conf"), configuration, StandardOpenOption.APPEND);
            } catch (IOException e) {
                throw new PostgresClusterException("cannot copy " + original + ": " + e, e);
            }
            return copy;
        }

        @Override
        public void close() {
            Directories.delete(directory);
        }
    }
}
