/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.installation;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.server.MoveServer;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardRouterBuilder;
import org.shardflake.server.ServerUrl;

/** A database on each of a cluster's first servers, with a shard map over them whose catalog is in the first one. Closing drops the databases. */
public final class BenchmarkInstallation implements AutoCloseable {

    private final List<PostgresServer> servers;
    private final String database;
    private final Databases databases;
    private final int shards;
    private final ShardflakeCommand command;

    private BenchmarkInstallation(List<PostgresServer> servers, String database, Databases databases, int shards) {
        this.servers = servers;
        this.database = database;
        this.databases = databases;
        this.shards = shards;
        this.command = new ShardflakeCommand(
                databases.directory(),
                Map.of(
                        "SHARDFLAKE_CATALOG",
                        url(servers.get(0)),
                        "PGPASSWORD",
                        servers.get(0).password()));
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
    public static BenchmarkInstallation spread(PostgresCluster cluster, String database, int servers, int shards)
            throws Exception {
        return create(cluster, database, servers, servers, shards);
    }

    /** All shards on the first server; the others have none. */
    public static BenchmarkInstallation onFirst(PostgresCluster cluster, String database, int servers, int shards)
            throws Exception {
        return create(cluster, database, servers, 1, shards);
    }

    private static BenchmarkInstallation create(
            PostgresCluster cluster, String database, int servers, int withShards, int shards) throws Exception {
        List<PostgresServer> used = cluster.servers().subList(0, servers);
        BenchmarkInstallation created =
                new BenchmarkInstallation(used, database, new Databases(used, database), shards);
        created.init(withShards);
        return created;
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

    /** The URL without the password, as in the shard map. */
    private String url(PostgresServer server) {
        return server.uri(database).replaceFirst("//[^@/]*@", "//" + server.user() + "@");
    }

    /** The command line, with this installation's catalog. */
    public ShardflakeCommand command() {
        return command;
    }

    /** The servers, {@code db1} first. */
    public List<PostgresServer> servers() {
        return servers;
    }

    /** The number of shards in the shard map. */
    public int shards() {
        return shards;
    }

    /** The shards that a server has now, as the catalog says. */
    public ShardSet shardsOf(String server) {
        ShardMap map =
                ShardCatalog.at(ServerUrl.parse(servers.get(0).uri(database))).load();
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
        return builder(poolSize).catalog(url(servers.get(0))).build();
    }

    /**
     * A router over shards that are all on {@code db1}, whose pool lends any connection to any shard, as it does behind a pooler; the caller closes
     * it.
     */
    public ShardRouter routerWithoutHomes(int poolSize) {
        String url = url(servers.get(0));
        Server server = new Server("db1", url, Optional.of(url), Map.of());
        return builder(poolSize)
                .map(ShardMap.initial(new Sharding(shards), IdLayout.DEFAULT, List.of(server), Spread.ROUND_ROBIN))
                .build();
    }

    private ShardRouterBuilder builder(int poolSize) {
        return ShardRouter.builder()
                .credentials(servers.get(0).user(), servers.get(0).password())
                .poolSize(poolSize);
    }

    /** Moves shards of this installation in this process. */
    public Mover mover(MoveListener listener) {
        return new Mover(
                ServerUrl.parse(uri("db1")),
                name -> new MoveServer(name, ServerUrl.parse(uri(name))),
                MoveSettings.DEFAULT,
                listener);
    }

    /** Runs {@code schema deploy} with this changelog, and checks that every shard of the map is there afterwards. */
    public double deployPhotos(String changelog) throws Exception {
        double seconds = deploy(changelog);
        requireDeployed();
        return seconds;
    }

    /** Runs {@code schema deploy} with this changelog and options, and returns the seconds that it took. */
    public double deploy(String changelog, String... options) throws Exception {
        databases.writeChangelog(changelog);
        List<String> arguments = new ArrayList<>(List.of("schema", "deploy", "--changelog", Databases.CHANGELOG));
        arguments.addAll(List.of(options));
        return command.run(arguments.toArray(String[]::new)).seconds();
    }

    private void requireDeployed() throws SQLException {
        long found = 0;
        for (PostgresServer server : servers) {
            try (Connection connection = server.connect(database)) {
                found += Sql.number(
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
        databases.onEach("CHECKPOINT");
    }

    @Override
    public void close() throws SQLException, IOException {
        databases.close();
    }

    /** Databases of one name on several servers, and a directory for them. Closing drops and deletes them. */
    public static final class Databases implements AutoCloseable {

        /** The changelog's name in the directory. */
        public static final String CHANGELOG = "app.yaml";

        private final List<PostgresServer> servers;
        private final String name;
        private final Path directory;

        /** Creates the databases. */
        public Databases(List<PostgresServer> servers, String name) throws SQLException, IOException {
            this.servers = servers;
            this.name = name;
            this.directory = Files.createTempDirectory("shardflake-");
            onEach("CREATE DATABASE " + name);
        }

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

        @Override
        public void close() throws SQLException, IOException {
            onEach("DROP DATABASE %s WITH (FORCE)".formatted(name));
            try (Stream<Path> files = Files.walk(directory)) {
                files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
            }
        }
    }
}
