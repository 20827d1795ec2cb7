/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.trino;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.trino.plugin.memory.MemoryPlugin;
import io.trino.plugin.postgresql.PostgreSqlPlugin;
import io.trino.server.testing.TestingTrinoServer;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.StringJoiner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.gateway.GatewayFollower;
import org.shardflake.gateway.Gateways;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.server.MoveServer;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;

/** Two servers of 125 shards each, so with two parts of each table, and the gateway in a third database. */
class TrinoIT {

    private static final int SHARDS = 250;
    private static final String READER = "trino_reader";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    static Path directory;

    private static Gateways gateways;
    private static TestingTrinoServer trino;

    @BeforeAll
    static void shardsGatewayAndTrino() throws Exception {
        Installation installation = Installation.at(catalog());
        installation.create(
                ShardMap.initial(
                        new Sharding(SHARDS),
                        IdLayout.DEFAULT,
                        List.of(new Server("db1", url(0)), new Server("db2", url(1))),
                        Spread.CONTIGUOUS),
                "a test");
        Path changelog = Files.writeString(directory.resolve("tables.sql"), """
                --liquibase formatted sql
                --changeset ann:account
                CREATE TYPE mood AS ENUM ('good', 'bad');
                CREATE TABLE account (id bigint PRIMARY KEY, uid bigint NOT NULL, name text, "Mood" mood, tags text[], facts jsonb);
                --changeset ann:photo
                CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, shard text, likes integer, taken timestamptz, price numeric(10, 2), cost numeric);
                """);
        assertThat(installation
                        .deploy(changelog, DeploySettings.defaults(directory), done -> {})
                        .failures())
                .isEmpty();
        for (int server = 0; server < 2; server++) {
            fill(server);
        }
        gateways = new Gateways(catalog(), ServerUrl::parse);
        gateways.deploy("gateway", url(2), "shards", READER, List.of(), null);

        Logger.getLogger("").setLevel(Level.OFF);
        trino = TestingTrinoServer.create();
        trino.installPlugin(new MemoryPlugin());
        trino.installPlugin(new PostgreSqlPlugin());
        trino.createCatalog("memory", "memory");
        for (List<String> row : asGateway("catalogs.sql")) {
            trino.createCatalog(row.get(0), "postgresql", properties(row.get(1)));
        }
    }

    @AfterAll
    static void stop() throws IOException {
        trino.close();
    }

    private static String url(int server) {
        return postgres.database(server).uri();
    }

    private static ServerUrl catalog() {
        return ServerUrl.parse(url(0));
    }

    /** In each shard an account for each of two uids, with as many photos as the number of the shard says. */
    private static void fill(int server) throws SQLException {
        StringBuilder sql = new StringBuilder(
                "DO $$BEGIN CREATE ROLE %1$s LOGIN PASSWORD 'secret'; EXCEPTION WHEN duplicate_object THEN END$$; GRANT pg_read_all_data TO %1$s;"
                        .formatted(READER));
        for (int shard = server * SHARDS / 2; shard < (server + 1) * SHARDS / 2; shard++) {
            sql.append("""
                    INSERT INTO %1$s.account (uid, name, "Mood", tags, facts)
                    SELECT uid, 'account ' || uid, 'good', '{a,b}', '{"a": 1}' FROM (VALUES (%2$s), (%2$s + %3$s)) AS u (uid);
                    INSERT INTO %1$s.photo (uid, shard, likes, taken, price, cost)
                    SELECT %2$s, 's', n, timestamptz '2026-01-01' + n * interval '1 hour', n, n + 0.125 FROM generate_series(1, %2$s %% 20) AS n;
                    """.formatted(Sharding.schema(shard), shard, SHARDS));
        }
        try (Connection connection = postgres.database(server).connect()) {
            Sql.execute(connection, sql.toString());
        }
    }

    /** As a file of etc/catalog has them. */
    private static Map<String, String> properties(String connectionUrl) throws IOException {
        Properties file = new Properties();
        try (Reader reader = Files.newBufferedReader(Path.of("catalog.properties"))) {
            file.load(reader);
        }
        Map<String, String> properties = new HashMap<>();
        file.forEach((name, value) -> properties.put(name.toString(), value.toString()));
        properties.remove("connector.name");
        properties.put("connection-url", connectionUrl);
        properties.put("connection-user", READER);
        properties.put("connection-password", "secret");
        return properties;
    }

    /** The rows that a file's query has in the gateway's database. */
    private static List<List<String>> asGateway(String file) throws SQLException, IOException {
        try (Connection connection = postgres.database(2).connect()) {
            return rows(connection, Files.readString(Path.of(file)));
        }
    }

    private static List<List<String>> rows(Connection connection, String sql) throws SQLException {
        List<List<String>> rows = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            while (result.next()) {
                List<String> row = new ArrayList<>();
                for (int column = 1; column <= result.getMetaData().getColumnCount(); column++) {
                    row.add(String.valueOf(result.getString(column)));
                }
                rows.add(row);
            }
        }
        return rows;
    }

    private static Connection connect() throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", "ann");
        return DriverManager.getConnection(
                "jdbc:trino://%s/memory/default".formatted(trino.getBaseUrl().getAuthority()), properties);
    }

    @BeforeEach
    void writeViews() throws SQLException, IOException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (List<String> view : asGateway("views.sql")) {
                statement.execute(view.get(0).replaceFirst(";$", ""));
            }
        }
    }

    /** Fails if shards move so fast that parts are gone again by the time that Trino looks for them. */
    private void tryToWriteViews() throws IOException {
        try {
            writeViews();
        } catch (SQLException e) {
            assertThat(e.getMessage()).containsAnyOf("does not exist", "no supported columns", "run this again");
        }
    }

    private static String ask(String sql) throws SQLException {
        try (Connection connection = connect()) {
            StringJoiner lines = new StringJoiner("\n");
            rows(connection, sql).forEach(row -> lines.add(String.join(" ", row)));
            return lines.toString();
        }
    }

    private static long count(String table) {
        try (ShardRouter router = ShardRouter.builder().catalog(catalog()).build()) {
            return router.count(ShardQuery.of("SELECT id FROM ${shard.schema}." + table, row -> 1));
        }
    }

    private static void countsEqual() throws SQLException {
        for (String table : List.of("account", "photo")) {
            long count = count(table);
            assertThat(ask("SELECT count(*), count(DISTINCT id) FROM " + table)).isEqualTo(count + " " + count);
        }
    }

    @Test
    void countsAreThoseOfTheRouter() throws SQLException {
        assertThat(count("account")).isEqualTo(2 * SHARDS);
        countsEqual();
        assertThat(
                        ask(
                                "SELECT count(*) FROM photo WHERE shard_number <> bitwise_and(bitwise_right_shift(id, 10), 8191)"))
                .isEqualTo("0");
    }

    @Test
    void tablesAreJoinedAndGrouped() throws SQLException {
        StringJoiner expected = new StringJoiner("\n");
        for (int uid = 0; uid < SHARDS; uid++) {
            int photos = uid % 20;
            int likes = photos * (photos + 1) / 2;
            if (photos > 0) {
                expected.add("account %s %s %s %s.00".formatted(uid, photos, likes, likes));
            }
        }
        assertThat(
                        ask(
                                "SELECT a.name, count(*), sum(p.likes), sum(p.price) FROM account a JOIN photo p ON p.uid = a.uid GROUP BY a.name, a.uid ORDER BY a.uid"))
                .isEqualTo(expected.toString());
    }

    @Test
    void aQueryOfOneShardReadsOnePart() throws SQLException {
        String id = ask("SELECT min(id) FROM photo WHERE uid = 105");

        assertThat(ask("EXPLAIN SELECT * FROM photo")).contains("= shards_db1:", "= shards_db2:");
        for (String condition : List.of(
                "shard_number = mod(105, 250) AND uid = 105",
                "shard_number = bitwise_and(bitwise_right_shift(%1$s, 10), 8191) AND id = %1$s".formatted(id))) {
            String plan = ask("EXPLAIN SELECT * FROM photo WHERE " + condition);
            assertThat(plan).as(plan).containsOnlyOnce("= shards_db").doesNotContain("Filter");
        }
        assertThat(ask("SELECT count(*) FROM photo WHERE shard_number = mod(105, 250) AND uid = 105"))
                .isEqualTo("5");
    }

    @Test
    void typesThatTrinoDoesNotHaveArriveAsText() throws SQLException {
        assertThat(ask("SELECT \"Mood\", tags, facts FROM account WHERE uid = 7"))
                .isEqualTo("good [\"a\",\"b\"] {\"a\":1}");
        assertThat(
                        ask(
                                "SELECT price, cost, CAST(cost AS decimal(10, 3)) + 1, to_unixtime(taken) - to_unixtime(timestamp '2026-01-01 UTC') FROM photo WHERE uid = 1"))
                .isEqualTo("1.00 1.125 2.125 3600.0");
    }

    /** Views that have not followed read no shard twice, nor a copy of it, nor leave it out. */
    @Test
    void whatSucceedsWhileShardsMoveIsRight() throws Exception {
        GatewayFollower follower = new GatewayFollower(gateways, problem -> {});
        ShardCatalog shards = ShardCatalog.at(catalog());
        Mover mover = new Mover(
                catalog(),
                name -> new MoveServer(
                        name, ServerUrl.parse(shards.load().server(name).url())),
                MoveSettings.DEFAULT,
                MoveListener.NONE,
                follower);
        String count = String.valueOf(count("photo"));
        Move move = mover.beginOrResume("db1", "db2", ShardSet.parse("110-119"), "a test");
        CompletableFuture<Void> moving = CompletableFuture.runAsync(() -> mover.carryOut(move, false));
        int answers = 0;
        int refusals = 0;
        try {
            while (!moving.isDone()) {
                try {
                    assertThat(ask("SELECT count(*) FROM photo")).isEqualTo(count);
                    answers++;
                } catch (SQLException e) {
                    assertThat(e.getMessage())
                            .matches("(?s).*(is not open on this server|does not exist|no supported columns).*");
                    refusals++;
                    tryToWriteViews();
                }
            }
        } finally {
            moving.get();
        }
        assertThat(answers).isPositive();
        assertThat(refusals).isPositive();

        assertThat(ask("SELECT count(*) FROM photo WHERE shard_number = 9")).isEqualTo("9");
        assertThat(shards.load().shards(shards.load().server("db2")).size()).isEqualTo(SHARDS / 2 + 10);
        writeViews();
        countsEqual();
    }

    @Test
    void theProgramWritesFiles() throws Exception {
        assumeTrue(run("psql", "--version") == 0, "psql is not installed");
        Path etc = directory.resolve("etc");
        assertThat(run("./write", url(2), etc.toString())).isZero();

        StringJoiner views = new StringJoiner("\n", "", "\n");
        asGateway("views.sql").forEach(view -> views.add(view.get(0)));
        assertThat(etc.resolve("views.sql")).hasContent(views.toString());
        for (List<String> server : asGateway("catalogs.sql")) {
            assertThat(etc.resolve("catalog").resolve(server.get(0) + ".properties"))
                    .hasContent(Files.readString(Path.of("catalog.properties")) + "connection-url=" + server.get(1));
        }
        assertThat(run("./write", url(0), etc.toString())).as("no gateway").isEqualTo(4);
        assertThat(run("./write")).isEqualTo(2);
    }

    private static int run(String... command) throws InterruptedException {
        try {
            Process process = new ProcessBuilder(command).inheritIO().start();
            if (!process.waitFor(1, TimeUnit.MINUTES)) {
                process.destroyForcibly();
            }
            return process.waitFor();
        } catch (IOException e) {
            return -1;
        }
    }
}
