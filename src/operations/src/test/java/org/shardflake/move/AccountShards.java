/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.deploy.SchemaDeployer;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.internal.session.RetryDeadline;
import org.shardflake.move.internal.session.Sleep;
import org.shardflake.move.server.MoveServer;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardRouterBuilder;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.CatalogSchema;
import org.shardflake.sql.FunctionLibrary;

/** An installation with accounts and their entries: servers db1, db2 and so on, and the catalog on the last one. */
public final class AccountShards {

    static final String CHANGELOG = """
            --liquibase formatted sql
            --changeset ann:account
            CREATE TABLE account (id bigint PRIMARY KEY, uid bigint NOT NULL, balance bigint NOT NULL DEFAULT 0, note text);
            CREATE INDEX account_uid ON account (uid);
            --changeset ann:entry
            CREATE TABLE entry (
                id bigint PRIMARY KEY, account_id bigint NOT NULL REFERENCES account ON DELETE CASCADE,
                amount bigint NOT NULL, key uuid NOT NULL UNIQUE, created_at timestamptz NOT NULL DEFAULT clock_timestamp());
            CREATE INDEX entry_account ON entry (account_id);
            --changeset ann:tag
            CREATE TABLE tag (account_id bigint NOT NULL, name text NOT NULL, PRIMARY KEY (account_id, name));
            CREATE SEQUENCE ticket;
            """;

    private final List<TestDatabase> servers;
    private final TestDatabase catalogDatabase;
    private final String user;
    private final String password;
    private final String parameters;
    private final ShardCatalog catalog;

    private AccountShards(
            List<TestDatabase> servers, TestDatabase catalogDatabase, String user, String password, String parameters) {
        this.servers = servers;
        this.catalogDatabase = catalogDatabase;
        this.user = user;
        this.password = password;
        this.parameters = parameters;
        this.catalog = ShardCatalog.at(catalogUrl());
    }

    /** The same, used by another role. */
    public AccountShards as(String otherUser, String otherPassword) {
        return new AccountShards(servers, catalogDatabase, otherUser, otherPassword, parameters);
    }

    /** The same with parameters in the URLs, from ? on. */
    AccountShards with(String urlParameters) {
        return new AccountShards(servers, catalogDatabase, user, password, urlParameters);
    }

    /** All shards on the first server, the others empty. */
    public static AccountShards create(PostgresExtension postgres, int servers, int shards, Path directory)
            throws SQLException, IOException, InterruptedException {
        return create(postgres, servers, shards, directory, CHANGELOG, false);
    }

    /** The same, and all servers have the function library. */
    public static AccountShards createWithLibraries(PostgresExtension postgres, int servers, int shards, Path directory)
            throws SQLException, IOException, InterruptedException {
        return create(postgres, servers, shards, directory, CHANGELOG, true);
    }

    /** The same with tables of another changelog. */
    static AccountShards create(PostgresExtension postgres, int servers, int shards, Path directory, String changelog)
            throws SQLException, IOException, InterruptedException {
        return create(postgres, servers, shards, directory, changelog, false);
    }

    /** Servers with these databases, and a catalog; nothing is in them yet. */
    static AccountShards of(List<TestDatabase> databases, TestDatabase catalog) {
        return new AccountShards(databases, catalog, catalog.user(), catalog.password(), "");
    }

    /** Two servers and a catalog that are bare. */
    static AccountShards bare(PostgresExtension postgres) throws SQLException {
        if (!postgres.restore("bare")) {
            postgres.save("bare");
        }
        return of(List.of(postgres.database(0), postgres.database(1)), postgres.database(2));
    }

    /** Made for the first test of a JVM; the next have what it was then. */
    private static AccountShards create(
            PostgresExtension postgres, int servers, int shards, Path directory, String changelog, boolean libraries)
            throws SQLException, IOException, InterruptedException {
        List<TestDatabase> databases = new ArrayList<>();
        for (int i = 0; i < servers; i++) {
            databases.add(postgres.database(i));
        }
        AccountShards created = of(databases, postgres.database(servers));
        Path file = Files.writeString(directory.resolve("accounts.sql"), changelog);
        String state = "%s shards on %s servers by changelog %s, libraries %s"
                .formatted(shards, servers, changelog, libraries);
        if (!postgres.restore(state)) {
            if (!postgres.take(state, "shardflake_catalog.server", "url")) {
                created.deploy(shards, directory, file);
                if (libraries) {
                    created.deployLibraries();
                }
                postgres.share(state);
            }
            postgres.save(state);
        }
        return created;
    }

    /** Creates the catalog, and deploys to all shards, on the first server. */
    void deploy(int shards, Path directory) throws SQLException, IOException, InterruptedException {
        deploy(shards, directory, Files.writeString(directory.resolve("accounts.sql"), CHANGELOG));
    }

    /** The same with another changelog. */
    void deploy(int shards, Path directory, Path changelog) throws SQLException, InterruptedException {
        deploy(shards, changelog, DeploySettings.defaults(directory));
    }

    void deploy(int shards, Path changelog, DeploySettings settings) throws SQLException, InterruptedException {
        try (Connection connection = catalogUrl().connect("a test")) {
            CatalogSchema.deploy(connection);
        }
        catalog.initialize(
                ShardMap.initial(new Sharding(shards), IdLayout.DEFAULT, List.of(server(0)), Spread.CONTIGUOUS),
                "a test");
        for (int i = 1; i < servers.size(); i++) {
            catalog.addServer(server(i), "a test");
        }
        ShardMap map = catalog.load();
        DeployTarget all = new DeployTarget("db1", url("db1"), map.shards(map.server("db1")));
        try (SchemaDeployer deployer = SchemaDeployer.prepare(changelog, List.of(all), IdLayout.DEFAULT, settings)) {
            deployer.deploy(done -> {});
        }
    }

    private void deployLibraries() throws SQLException {
        for (TestDatabase database : servers) {
            try (Connection connection = database.connectAs(user, password)) {
                FunctionLibrary.deploy(connection);
            }
        }
    }

    private Server server(int position) {
        return new Server(
                "db" + (position + 1), withoutPassword(servers.get(position).uri(user, password)));
    }

    private static String withoutPassword(String uri) {
        return uri.replaceFirst(":[^:@/]*@", "@");
    }

    /** What the environment of a command has to say. */
    public Map<String, String> environment() {
        return Map.of(
                "SHARDFLAKE_CATALOG", withoutPassword(catalogDatabase.uri(user, password)), "PGPASSWORD", password);
    }

    public ServerUrl url(String server) {
        return ServerUrl.parse(servers.get(position(server)).uri(user, password) + parameters);
    }

    /** A server's URL with more parameters of the driver. */
    public ServerUrl url(String server, String more) {
        String uri = servers.get(position(server)).uri(user, password) + parameters;
        return ServerUrl.parse(uri + (uri.contains("?") ? "&" : "?") + more);
    }

    public ServerUrl catalogUrl() {
        return ServerUrl.parse(catalogDatabase.uri(user, password) + parameters);
    }

    private static int position(String server) {
        return Integer.parseInt(server.substring("db".length())) - 1;
    }

    public ShardCatalog catalog() {
        return catalog;
    }

    TestDatabase catalogDatabase() {
        return catalogDatabase;
    }

    public TestDatabase database(String server) {
        return servers.get(position(server));
    }

    /** Settings that do not compare at the cutovers, but afterwards. */
    static MoveSettings uncompared(Duration patience) {
        return settings(patience, false);
    }

    static MoveSettings patient(Duration patience) {
        return settings(patience, MoveSettings.DEFAULT.verify());
    }

    private static MoveSettings settings(Duration patience, boolean verify) {
        MoveSettings usual = MoveSettings.DEFAULT;
        return new MoveSettings(
                usual.jobs(),
                usual.partSize(),
                0,
                0,
                usual.maxLag(),
                usual.pause(),
                usual.lockTimeout(),
                patience,
                verify);
    }

    /** The usual settings, with parts of another size. */
    static MoveSettings inParts(long size) {
        MoveSettings usual = MoveSettings.DEFAULT;
        return new MoveSettings(
                usual.jobs(),
                size,
                0,
                0,
                usual.maxLag(),
                usual.pause(),
                usual.lockTimeout(),
                usual.patience(),
                usual.verify());
    }

    public Mover mover(MoveSettings settings, MoveListener listener) {
        return new Mover(catalogUrl(), name -> new MoveServer(name, url(name)), settings, listener);
    }

    ShardRouterBuilder router() {
        return ShardRouter.builder()
                .catalog(catalogDatabase.uri(user, password))
                .credentials(user, password);
    }

    public long number(String server, String sql) throws SQLException {
        try (Connection connection = database(server).connect()) {
            return number(connection, sql);
        }
    }

    public long catalogNumber(String sql) throws SQLException {
        try (Connection connection = catalogDatabase.connect()) {
            return number(connection, sql);
        }
    }

    private static long number(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    public void executeInCatalog(String sql) throws SQLException {
        execute(catalogDatabase, sql);
    }

    public void execute(String server, String sql) throws SQLException {
        execute(database(server), sql);
    }

    /** The same as who uses the installation, to whom then belongs what is created. */
    public void executeAsUser(String server, String sql) throws SQLException {
        try (Connection connection = database(server).connectAs(user, password)) {
            Sql.execute(connection, sql);
        }
    }

    private static void execute(TestDatabase database, String sql) throws SQLException {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** A subscription of the user's own on a server, to a tag table of this shard in the catalog's database. */
    public void subscribe(String server, int shard) throws SQLException {
        String schema = Sharding.schema(shard);
        executeInCatalog(
                "CREATE SCHEMA %1$s; CREATE TABLE %1$s.tag (account_id bigint NOT NULL, name text NOT NULL, PRIMARY KEY (account_id, name)); CREATE PUBLICATION own_feed FOR TABLE %1$s.tag"
                        .formatted(schema));
        executeInCatalog("SELECT pg_create_logical_replication_slot('own_feed', 'pgoutput')");
        execute(
                server,
                "CREATE SUBSCRIPTION own_feed CONNECTION %s PUBLICATION own_feed WITH (create_slot = false, copy_data = false)"
                        .formatted(
                                Sql.quote(ServerUrl.parse(catalogDatabase.uri()).conninfo())));
    }

    /** Waits until a query says this much, for two minutes at most. */
    public void await(String server, String sql, long expected) throws SQLException {
        RetryDeadline patience = new RetryDeadline(Duration.ofMinutes(2));
        while (number(server, sql) != expected) {
            if (patience.isOver()) {
                throw new AssertionError("%s is not %s within two minutes".formatted(sql, expected));
            }
            Sleep.millis(20);
        }
    }

    /** How many objects of moves a server has; the slots of its database only. */
    public long leftovers(String server) throws SQLException {
        return number(server, """
                SELECT (SELECT count(*) FROM pg_publication WHERE pubname LIKE 'shardflake%')
                     + (SELECT count(*) FROM pg_subscription WHERE subname LIKE 'shardflake%' AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database()))
                     + (SELECT count(*) FROM pg_replication_slots WHERE database = current_database())
                     + (SELECT count(*) FROM shardflake.move_claim) + (SELECT count(*) FROM shardflake.move_marker)
                """);
    }
}
