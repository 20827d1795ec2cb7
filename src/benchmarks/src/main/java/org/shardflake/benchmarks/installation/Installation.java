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
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.ids.Sql;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.ManagedRole;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;

/**
 * A database of its own on each of a cluster's first servers, with a shard map over them whose catalog is in the first one. Closing
 * drops the databases.
 */
public final class Installation implements AutoCloseable {

    private final List<PostgresServer> servers;
    private final String database;
    private final Databases databases;
    private final int shards;
    private final String user;
    private final String password;
    private final ShardflakeCommand command;

    private Installation(
            List<PostgresServer> servers,
            String database,
            Databases databases,
            int shards,
            Optional<ManagedRole> role) {
        this.servers = servers;
        this.database = database;
        this.databases = databases;
        this.shards = shards;
        this.user = role.map(ManagedRole::user).orElse(servers.get(0).user());
        this.password = role.map(ManagedRole::password).orElse(servers.get(0).password());
        this.command = new ShardflakeCommand(
                databases.directory(), Map.of("SHARDFLAKE_CATALOG", url(servers.get(0)), "PGPASSWORD", password));
    }

    /** Starts so many embedded servers, with commits that survive a power cut. */
    public static PostgresCluster startServers(int count) {
        return PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(count)
                .durable(true)
                .start();
    }

    /** Shards in equal parts on all servers. */
    public static Installation spread(PostgresCluster cluster, String database, int servers, int shards)
            throws Exception {
        return create(cluster, database, servers, servers, shards, Optional.empty());
    }

    /** All shards on the first server; the others have none. */
    public static Installation onFirst(PostgresCluster cluster, String database, int servers, int shards)
            throws Exception {
        return onFirst(cluster, database, servers, shards, Optional.empty());
    }

    /** The same, owned and used by a role that is no superuser, if one is given. */
    public static Installation onFirst(
            PostgresCluster cluster, String database, int servers, int shards, Optional<ManagedRole> role)
            throws Exception {
        return create(cluster, database, servers, 1, shards, role);
    }

    private static Installation create(
            PostgresCluster cluster,
            String database,
            int servers,
            int withShards,
            int shards,
            Optional<ManagedRole> role)
            throws Exception {
        List<PostgresServer> used = cluster.servers().subList(0, servers);
        Databases databases = Databases.create(used, database);
        try {
            Installation created = new Installation(used, database, databases, shards, role);
            if (role.isPresent()) {
                databases.giveTo(role.get());
            }
            created.init(withShards);
            return created;
        } catch (Exception | Error e) {
            databases.closeAfter(e);
            throw e;
        }
    }

    private void init(int withShards) throws IOException, InterruptedException {
        List<String> init = new ArrayList<>(List.of("init", "--shards", String.valueOf(shards)));
        for (PostgresServer server : servers.subList(0, withShards)) {
            init.addAll(List.of("--server", server.name() + "=" + url(server)));
        }
        command.run(init.toArray(String[]::new));
        for (PostgresServer server : servers.subList(withShards, servers.size())) {
            command.run("server", "add", server.name(), url(server));
        }
    }

    /** Without the password, as the shard map has it. */
    private String url(PostgresServer server) {
        return server.uri(database).replaceFirst("//[^@/]*@", "//" + user + "@");
    }

    /** The command line, with this installation's catalog. */
    public ShardflakeCommand command() {
        return command;
    }

    /** The servers, {@code db1} first. */
    public List<PostgresServer> servers() {
        return servers;
    }

    /** How many shards the shard map has. */
    public int shards() {
        return shards;
    }

    /** The shard map as the catalog has it now. */
    public ShardMap map() {
        return ShardCatalog.at(ServerUrl.parse(servers.get(0).uri(database))).load();
    }

    /** The shards that a server has now. */
    public ShardSet shardsOf(String server) {
        ShardMap map = map();
        return map.shards(map.server(server));
    }

    /** Opens a connection to the database of a server; the caller closes it. */
    public Connection connect(String server) throws SQLException {
        return server(server).connect(database);
    }

    /** The libpq URI of the database of a server, with the password. */
    public String uri(String server) {
        return server(server).uri(database);
    }

    /** The server of this name. */
    public PostgresServer server(String name) {
        return servers.stream()
                .filter(server -> server.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no server " + name));
    }

    /** A router over this installation, which the caller closes. */
    public ShardRouter router(int poolSize) {
        return ShardRouter.builder()
                .catalog(url(servers.get(0)))
                .credentials(user, password)
                .poolSize(poolSize)
                .build();
    }

    /** Runs {@code schema deploy} with this changelog, and checks that every shard of the map is there afterwards. */
    public double deploy(String changelog) throws Exception {
        databases.writeChangelog(changelog);
        double seconds = command.run("schema", "deploy", "--changelog", Databases.CHANGELOG)
                .seconds();
        requireDeployed();
        return seconds;
    }

    private void requireDeployed() throws SQLException {
        int found = 0;
        for (PostgresServer server : servers) {
            try (Connection connection = server.connect(database)) {
                found += (int) Sql.number(
                        connection,
                        "SELECT count(*) FROM pg_tables WHERE schemaname LIKE 'shard\\_%' AND tablename = 'photo'");
            }
        }
        if (found != shards) {
            throw new IllegalStateException("%d shards have the table, not %d".formatted(found, shards));
        }
    }

    /** Writes all servers' changes to disk, so that the work of before does not slow down what is measured next. */
    public void checkpoint() throws SQLException {
        for (PostgresServer server : servers) {
            try (Connection connection = server.connect()) {
                Sql.execute(connection, "CHECKPOINT");
            }
        }
    }

    @Override
    public void close() throws SQLException, IOException {
        databases.close();
    }

    /** Databases of one name on several servers, and a directory with a changelog for them. Closing drops and deletes them. */
    public static final class Databases implements AutoCloseable {

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

        private void giveTo(ManagedRole role) throws SQLException {
            for (PostgresServer server : servers) {
                role.own(server, name);
            }
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
}
