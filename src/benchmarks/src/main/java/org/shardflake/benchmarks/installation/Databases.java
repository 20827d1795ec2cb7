/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.installation;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.benchmarks.ids.Sql;
import org.shardflake.cluster.PostgresServer;

/** Databases of one name on several servers, and a directory with a changelog for them. Closing drops and deletes them. */
public final class Databases implements AutoCloseable {

    /** The changelog's name in the directory. */
    public static final String CHANGELOG = "app.yaml";

    private final List<PostgresServer> servers;
    private final String name;
    private final Path directory;

    private Databases(List<PostgresServer> servers, String name, Path directory) {
        this.servers = servers;
        this.name = name;
        this.directory = directory;
    }

    /** Creates the databases, on all servers or on none. */
    public static Databases create(List<PostgresServer> servers, String name) throws SQLException, IOException {
        Databases created = new Databases(servers, name, Files.createTempDirectory("shardflake-"));
        try {
            created.onEach("CREATE DATABASE " + name);
            return created;
        } catch (SQLException | RuntimeException | Error e) {
            created.closeAfter(e);
            throw e;
        }
    }

    /** Where the changelog is. */
    public Path directory() {
        return directory;
    }

    /** Makes this the changelog. */
    public void writeChangelog(String changelog) throws IOException {
        Files.writeString(directory.resolve(CHANGELOG), changelog);
    }

    private void onEach(String sql) throws SQLException {
        for (PostgresServer server : servers) {
            try (Connection connection = server.connect()) {
                Sql.execute(connection, sql);
            }
        }
    }

    /** Closes them because of a failure, which stays the one that is told. */
    void closeAfter(Throwable failure) {
        try {
            close();
        } catch (SQLException | IOException e) {
            failure.addSuppressed(e);
        }
    }

    @Override
    public void close() throws SQLException, IOException {
        onEach("DROP DATABASE IF EXISTS %s WITH (FORCE)".formatted(name));
        Files.deleteIfExists(directory.resolve(CHANGELOG));
        Files.delete(directory);
    }
}
