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

/** Starts the unpacked PostgreSQL binaries, with all data below one temporary directory per cluster. */
final class EmbeddedProvider implements ServerProvider {
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
                directory = Files.createTempDirectory("shardflake-cluster-");
            } catch (IOException e) {
                throw new PostgresClusterException("cannot make a temporary directory: " + e, e);
            }
        }
        return directory;
    }
}
