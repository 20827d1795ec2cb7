/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Starts the unpacked PostgreSQL binaries, with all data below one temporary directory per cluster. Data that need not
 * survive a crash of the operating system is kept in memory where there is room, since tests create and drop
 * thousands of files.
 */
final class EmbeddedProvider implements ServerProvider {
    private static final String PREFIX = "shardflake-cluster-";

    /** The in-memory directory of Linux. */
    static final Path MEMORY = Path.of("/dev/shm");

    /** The free space, in bytes, that the tests of two JVMs need. */
    private static final long ROOM = 8L << 30;

    private final OptionalInt version;
    private final Map<String, String> settings;
    private final Map<String, String> environment;
    private @Nullable EmbeddedBinaries binaries;
    private @Nullable Path directory;

    EmbeddedProvider(OptionalInt version, Map<String, String> settings, Map<String, String> environment) {
        this.version = version;
        this.settings = settings;
        this.environment = Map.copyOf(environment);
    }

    /** A provider of servers with other programs than those on the class path. */
    EmbeddedProvider(EmbeddedBinaries binaries, Map<String, String> settings) {
        this(OptionalInt.empty(), settings, Map.of());
        this.binaries = binaries;
    }

    @Override
    public ClusterServer newServer(String name) {
        if (binaries == null) {
            binaries = EmbeddedBinaries.unpack();
        }
        return new EmbeddedServer(
                name, binaries, directory().resolve(name), Ports.free(), version, settings, environment);
    }

    @Override
    public void close() {
        if (directory != null) {
            Directories.delete(directory);
        }
    }

    private Path directory() {
        if (directory == null) {
            try {
                directory =
                        isInMemory() ? Files.createTempDirectory(MEMORY, PREFIX) : Files.createTempDirectory(PREFIX);
            } catch (IOException e) {
                throw new PostgresClusterException(
                        "cannot make a temporary directory: " + PostgresClusterException.reason(e), e);
            }
        }
        return directory;
    }

    private boolean isInMemory() throws IOException {
        return "off".equals(settings.get("fsync"))
                // Whoever names another directory means it.
                && Path.of("/tmp").equals(Path.of(System.getProperty("java.io.tmpdir")))
                && Files.isWritable(MEMORY)
                && Files.getFileStore(MEMORY).getUsableSpace() >= ROOM;
    }
}
