/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.cluster.PostgresStandby;
import org.shardflake.jdbc.Poll;
import org.shardflake.router.ShardRouter;

/** The old database of an adoption fails over. It has a cluster of its own. Shards 0 to 3 are on db1, which has the catalog, 4 to 7 on db2. */
@Tag("full")
class AdoptFailoverIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;

    private final CliInstallation installation = new CliInstallation(postgres);
    private final List<ShardRouter> routers = new ArrayList<>();

    @TempDir
    private Path directory;

    private String plan = "";

    @SuppressWarnings("NullAway.Init") // by begin
    private PostgresCluster cluster;

    @SuppressWarnings("NullAway.Init") // by begin
    private PostgresServer primary;

    @SuppressWarnings("NullAway.Init") // by replicate
    private PostgresStandby standby;

    @BeforeEach
    void begin() throws SQLException, IOException {
        AdoptSlicesTest.begin(postgres, installation, directory);
        plan = "--plan=" + AdoptSlicesTest.plan(directory);
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(1)
                .start();
        primary = cluster.server(0);
        execute(DatabaseAdopterTest.OLD_TABLES);
    }

    @AfterEach
    void stop() {
        routers.forEach(ShardRouter::close);
        cluster.close();
    }

    /** Gives the old database another standby. */
    private void replicate(boolean isSynchronous) throws SQLException {
        standby = cluster.standbyOf(primary);
        if (isSynchronous) {
            execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
            execute("SELECT pg_reload_conf()");
            await(() -> query(OLD, "SELECT sync_state FROM pg_stat_replication").equals("sync"));
        }
    }

    private ShardRouter router() {
        ShardRouter router = ShardRouter.builder()
                .catalog(postgres.database(0).uri())
                .oldDatabase(standby.uriOfBoth("postgres"), "shop")
                .build();
        routers.add(router);
        return router;
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = primary.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private String query(int database, String sql) throws SQLException {
        if (database != OLD) {
            return installation.query(database, sql);
        }
        try (Connection connection = primary.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            return row.next() ? String.valueOf(row.getString(1)) : "";
        }
    }

    private static void await(Poll.Condition condition) throws SQLException {
        assertThat(Poll.everyMillis(5, Duration.ofMinutes(1)).until(condition)).isTrue();
    }

    private Cli.Result adopt(String... command) {
        List<String> whole =
                new ArrayList<>(List.of("adopt", command[0], plan, "--from=" + standby.uriOfBoth("postgres")));
        whole.addAll(List.of(command).subList(1, command.length));
        if (!command[0].equals("verify")) {
            whole.add("--yes");
        }
        return installation.launch(whole.toArray(String[]::new));
    }

    private void succeed(String... command) {
        Cli.Result result = adopt(command);
        assertThat(result.exitCode()).as(result.toString()).isZero();
    }

    private void differs(List<String> what, String... command) {
        Cli.Result result = adopt(command);
        assertThat(result.exitCode()).as(result.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(result.out() + result.err()).contains(what);
    }

    private void failOver() {
        primary.kill();
        standby.promote();
        primary = standby;
    }

    /** Fails over at a random moment of a command; returns whether the command was running. */
    private boolean failOverIn(Random random, String... command) throws Exception {
        CompletableFuture<Cli.Result> running = CompletableFuture.supplyAsync(() -> adopt(command));
        await(() -> running.isDone()
                || query(OLD, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'shardflake adopt'")
                                .compareTo("0")
                        > 0);
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(300)));
        boolean isRunning = !running.isDone();
        failOver();
        running.get(2, TimeUnit.MINUTES);
        return isRunning;
    }

    /** Commits wait for the standby, so nothing is lost that an application was told of. */
    @Test
    @Timeout(value = 10, unit = TimeUnit.MINUTES)
    void anAdoptionGoesOnWithASynchronousStandby() throws Exception {
        long seed = Long.getLong("tests.seed", new Random().nextLong());
        Random random = new Random(seed);
        int hit = 0;
        replicate(true);
        succeed("run");
        succeed("cutover", "--percent=0");
        try (OrderWriters writers = new OrderWriters(router(), random)) {
            writers.awaitMore(50);
            for (String command : List.of("run", "cutover --shards=1,3,4,6", "reverse --shards=3,4")) {
                hit += failOverIn(random, command.split(" ", -1)) ? 1 : 0;
                writers.awaitMore(20); // the same router, which knows both hosts
                succeed(command.split(" ", -1));
                replicate(true);
                writers.use(router());
            }
            writers.awaitMore(20);
            failOver(); // while no command runs
            writers.awaitMore(20);
            writers.stop();
            succeed("run");
            succeed("verify");
            writers.check(ShardSet.of(1, 6), this::query);
            writers.start();
            writers.awaitMore(20);
            succeed("cutover", "--percent=100");
            writers.awaitMore(20);
            writers.stop();
            writers.check(ShardSet.range(0, 7), this::query);
            System.out.printf("seed %s: %s, %s of 3 failovers hit a running command%n", seed, writers, hit);
        }
        assertThat(hit).isPositive();
    }

    /** The old database loses the changes that had not reached the standby, but the shards may have them. No shard leaves until the two agree. */
    @Test
    @Timeout(value = 5, unit = TimeUnit.MINUTES)
    void whatAStandbyThatLagsHasLostIsNamed() throws SQLException {
        replicate(false);
        succeed("run");
        succeed("cutover", "--shards=3");
        standby.awaitReplay();
        standby.disconnect();
        execute("""
                INSERT INTO shop.orders VALUES (5001, 4, 'lost', NULL);
                UPDATE shop.orders SET note = 'lost' WHERE id = 4;
                DELETE FROM shop.item WHERE order_id = 6 AND line = 0;
                """);
        succeed("cutover", "--shards=2");
        installation.execute(0, "INSERT INTO shard_0002.orders VALUES (5002, 10, 'new', NULL)");
        failOver();

        succeed("run");
        differs(
                List.of(
                        "shard_0002.orders: 1 extra (5002)",
                        "shard_0004.orders: 1 extra (5001)",
                        "shard_0005.orders: 1 different (4)",
                        "shard_0007.item: 1 missing (6,0)"),
                "verify");
        for (int shard : List.of(2, 4)) {
            differs(List.of("shard %s has 1 row that differs".formatted(shard)), "cutover", "--shards=" + shard);
        }

        // What the guide says to do.
        installation.execute(1, "DELETE FROM shard_0004.orders WHERE id = 5001");
        execute("UPDATE shop.orders SET note = note WHERE id = 4; UPDATE shop.item SET text = text WHERE order_id = 6");
        execute("INSERT INTO shop.orders VALUES (5002, 10, 'new', NULL)");
        succeed("cutover", "--percent=100");
        assertThat(installation.query(0, "SELECT count(*) FROM shard_0002.orders WHERE id = 5002"))
                .isEqualTo("1");
    }
}
