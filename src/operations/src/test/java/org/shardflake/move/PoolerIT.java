/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.StringJoiner;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardSet;
import org.shardflake.cluster.NeededPrograms;
import org.shardflake.cluster.PgBouncer;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.deploy.SchemaDeployer;
import org.shardflake.move.internal.session.Sleep;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.PoolerException;
import org.shardflake.server.ServerUrl;

/** Applications connect through PgBouncer in transaction mode; commands and subscriptions connect to the servers. */
@Tag("full")
class PoolerIT {

    private static final int SHARDS = 20;

    /** What the guide says to put into the application URL. */
    private static final String PREPARING =
            !PgBouncer.isInstalled() || PgBouncer.keepsPreparedStatements() ? "" : "?prepareThreshold=0";

    /** What a session has that a new one has not. */
    private static final String TRACES = """
            SELECT concat_ws(', ',
                (SELECT string_agg('setting ' || name || ' = ' || setting, ', ') FROM pg_settings
                  WHERE source = 'session' AND name NOT IN ('client_encoding', 'DateStyle', 'TimeZone', 'application_name', 'standard_conforming_strings')
                    AND name NOT LIKE 'transaction%' AND setting <> boot_val),
                (SELECT string_agg('advisory lock ' || objid, ', ') FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'),
                (SELECT string_agg('LISTEN ' || channel, ', ') FROM pg_listening_channels() channel),
                (SELECT string_agg('prepared ' || name, ', ') FROM pg_prepared_statements WHERE name NOT LIKE 'PGBOUNCER%'),
                (SELECT string_agg('table ' || relname, ', ') FROM pg_class WHERE relnamespace = pg_my_temp_schema()))
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    @SuppressWarnings("NullAway.Init") // by create
    private AccountShards shards;

    private List<PgBouncer> poolers = List.of();

    @BeforeEach
    void create() throws Exception {
        NeededPrograms.assume(PgBouncer.isInstalled(), "pgbouncer");
        shards = AccountShards.createWithLibraries(postgres, 2, SHARDS, directory);
        // Few sessions, given out in turn, so that whatever is left in one meets another user.
        poolers = List.of(
                PgBouncer.before(
                        shards.database("db1").server(), Map.of("default_pool_size", "4", "server_round_robin", "1")),
                PgBouncer.before(
                        shards.database("db2").server(), Map.of("default_pool_size", "4", "server_round_robin", "1")),
                PgBouncer.before(shards.catalogDatabase().server(), Map.of("default_pool_size", "1")));
        for (int i = 0; i < 2; i++) {
            Server server = shards.catalog().load().server("db" + (i + 1));
            shards.catalog()
                    .changeServer(
                            new Server(server.name(), server.url(), Optional.of(pooled(i) + PREPARING), Map.of()),
                            "a test");
        }
    }

    @AfterEach
    void stop() {
        poolers.forEach(PgBouncer::close);
    }

    private TestDatabase database(int position) {
        return position == 2 ? shards.catalogDatabase() : shards.database("db" + (position + 1));
    }

    private String pooled(int position) {
        return poolers.get(position).uri(database(position).name());
    }

    /** What sessions behind the pooler have that new ones have not; the next four transactions have one each. */
    private String traces(int position) throws SQLException {
        StringJoiner traces = new StringJoiner("");
        try (Connection connection = connect(position);
                Statement statement = connection.createStatement()) {
            for (int transaction = 0; transaction < 4; transaction++) {
                try (ResultSet row = statement.executeQuery(TRACES)) {
                    row.next();
                    traces.add(row.getString(1));
                }
            }
        }
        return traces.toString();
    }

    private Connection connect(int position) throws SQLException {
        String url = pooled(position).replaceFirst("//.*@", "//") + "?prepareThreshold=0&user="
                + database(position).server().user();
        return DriverManager.getConnection("jdbc:" + url);
    }

    @Test
    void movesUnderLoadFailNothingThroughAPooler() throws Exception {
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        try (ShardRouter router = shards.router().build()) {
            AccountLoad load = AccountLoad.start(router, ShardSet.range(0, SHARDS - 1), 8, 10);
            try {
                load.awaitMore(500);
                for (int move = 0; move < 20; move++) {
                    ShardSet moving = ShardSet.of(move / 2);
                    boolean back = move % 2 == 1;
                    long id = mover.follow(mover.record(back ? "db2" : "db1", back ? "db1" : "db2", moving, "")
                                    .id())
                            .id();
                    mover.cutOver(id, moving);
                    mover.complete(id);
                }
                load.awaitMore(500);
            } finally {
                load.close();
            }
            assertThat(load.failures()).isEmpty();
            assertThat(load.compare(shards)).isEmpty();
        }
    }

    @Test
    void threeDeploymentsInARowSucceedBesideAPooler() throws Exception {
        Path changelog = Files.writeString(
                directory.resolve("more.sql"),
                "--liquibase formatted sql\n--changeset ann:more\nCREATE TABLE more (id bigint PRIMARY KEY);\n");
        try (ShardRouter router = shards.router().build()) {
            AccountLoad load = AccountLoad.start(router, ShardSet.range(0, SHARDS - 1), 8, 10);
            try {
                for (int deployment = 0; deployment < 3; deployment++) {
                    load.awaitMore(100);
                    DeployTarget all = new DeployTarget("db1", shards.url("db1"), ShardSet.range(0, SHARDS - 1));
                    try (SchemaDeployer deployer = SchemaDeployer.prepare(
                            changelog, List.of(all), IdLayout.DEFAULT, DeploySettings.defaults(directory))) {
                        deployer.deploy(done -> {});
                    }
                }
            } finally {
                load.close();
            }
            assertThat(load.failures()).isEmpty();
        }
    }

    @Test
    void aRouterLeavesNothingInThePoolersSessions() throws Exception {
        try (ShardRouter router = shards.router()
                .catalog(pooled(2) + PREPARING)
                .pollInterval(Duration.ofMillis(100))
                .build()) {
            AccountLoad load = AccountLoad.start(router, ShardSet.range(0, SHARDS - 1), 8, 5);
            load.awaitMore(200);
            long version = router.map().version();
            shards.catalog().place(ShardSet.of(19), "db2", "a test");
            await().atMost(Duration.ofMinutes(1)).until(() -> router.map().version() > version);
            shards.catalog().place(ShardSet.of(19), "db1", "a test");
            load.awaitMore(200);
            load.close();
        }

        for (int position = 0; position < 3; position++) {
            assertThat(traces(position)).as("%s", database(position).server()).isEmpty();
        }
    }

    /** The pooler has four sessions: three are busy, and another client waits for the fourth. */
    @Test
    void whatATransactionSetsInASessionOfAPoolerEndsWithIt() throws Exception {
        ExecutorService waiter = Executors.newSingleThreadExecutor();
        try (ShardRouter router = shards.router().build();
                Connection one = begin();
                Connection two = begin();
                Connection three = begin()) {
            AtomicReference<Future<String>> next = new AtomicReference<>();
            router.run(0, tx -> {
                try (Statement statement = tx.connection().createStatement()) {
                    statement.execute("SET search_path = shard_0000");
                    statement.execute("CREATE TEMP TABLE mine (n int)");
                    statement.execute("INSERT INTO tag VALUES (1, 'of the shard')");
                    statement.execute("SELECT pg_advisory_lock(7)");
                }
                next.set(waiter.submit(() -> traces(0)));
                Sleep.millis(500); // Until it waits.
            });
            assertThat(Objects.requireNonNull(next.get()).get(1, TimeUnit.MINUTES))
                    .isEmpty();
            assertThat(List.of(one.isValid(1), two.isValid(1), three.isValid(1)))
                    .containsOnly(true);
        } finally {
            waiter.shutdownNow();
        }
        assertThat(shards.number("db1", "SELECT count(*) FROM shard_0000.tag WHERE name = 'of the shard'"))
                .isOne();
    }

    /** A connection whose transaction keeps a session of the pooler before db1. */
    private Connection begin() throws SQLException {
        Connection connection = connect(0);
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("SELECT 1");
        }
        return connection;
    }

    @Test
    void aCommandRefusesAPoolerAndLeavesNothingInItsSessions() throws Exception {
        ServerUrl url = ServerUrl.parse(pooled(0));

        assertThatThrownBy(() -> url.connect("a test"))
                .isInstanceOf(PoolerException.class)
                .hasMessageContaining("is a pooler that changes sessions between transactions");

        assertThat(traces(0)).isEmpty();
    }

    @Test
    void aPoolerThatKeepsSessionsIsTakenForTheServer() throws Exception {
        try (PgBouncer keeping = PgBouncer.before(shards.database("db1").server(), Map.of("pool_mode", "session"));
                Connection connection = ServerUrl.parse(
                                keeping.uri(shards.database("db1").name()))
                        .connect("a test")) {
            assertThat(connection.isValid(10)).isTrue();
        }
    }
}
