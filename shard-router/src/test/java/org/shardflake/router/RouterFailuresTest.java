/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.postgresql.PGConnection;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.ShardKey;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.router.exception.AuthenticationFailedException;
import org.shardflake.router.exception.InterruptedWorkException;
import org.shardflake.router.exception.ScatterException;
import org.shardflake.router.exception.ShardFencedException;
import org.shardflake.router.health.PoolStatus;
import org.shardflake.router.internal.jdbc.ForwardingConnection;
import org.shardflake.router.internal.jdbc.ForwardingDataSource;
import org.shardflake.sql.FunctionLibrary;

/** What goes wrong is called what it is, and is over in time. */
@Timeout(180)
class RouterFailuresTest {

    private static final int SHARDS = 20;
    private static final ShardQuery<Long> IDS =
            ShardQuery.of("SELECT id FROM ${shard.schema}.photo", row -> row.getLong("id"));

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

    private static final ExecutorService threads = Executors.newCachedThreadPool();
    private static PhotoShards shards;

    private ShardRouter router;

    @BeforeAll
    static void createShards() throws SQLException {
        shards = PhotoShards.create(postgres, 2, SHARDS);
    }

    @AfterAll
    static void stopThreads() {
        threads.shutdownNow();
    }

    @BeforeEach
    void start() {
        router = shards.router()
                .map(shards.map())
                .retryPolicy(RetryPolicy.DEFAULT.withMaxTries(5))
                .build();
    }

    @AfterEach
    void close() {
        router.close();
    }

    @Test
    void anInterruptedWaitForAConnectionIsNoExhaustedPool() throws Exception {
        try (ShardRouter small = shards.router()
                .map(shards.map())
                .poolSize(1)
                .connectionTimeout(Duration.ofMinutes(2))
                .build()) {
            CountDownLatch done = new CountDownLatch(1);
            CountDownLatch holding = new CountDownLatch(1);
            Future<?> holder = threads.submit(() -> {
                small.run(7, tx -> {
                    holding.countDown();
                    done.await();
                });
                return true;
            });
            holding.await();
            AtomicReference<Throwable> failure = new AtomicReference<>();
            AtomicBoolean isInterrupted = new AtomicBoolean();
            Thread waiting = new Thread(() -> {
                try {
                    small.write(7, tx -> 1);
                } catch (Throwable e) {
                    failure.set(e);
                    isInterrupted.set(Thread.currentThread().isInterrupted());
                }
            });
            waiting.start();
            await().atMost(Duration.ofMinutes(1))
                    .until(() ->
                            small.pools().stream().mapToInt(PoolStatus::waiting).sum() == 1);
            waiting.interrupt();
            waiting.join();
            done.countDown();
            holder.get();

            assertThat(failure.get())
                    .isInstanceOf(InterruptedWorkException.class)
                    .hasMessage("interrupted while waiting for a connection to server db2; nothing was committed");
            assertThat(isInterrupted).isTrue();
        }
    }

    @Test
    void aRefusedLoginIsToldAtOnceAndWithTheUserThatWasUsed() {
        try (ShardRouter refused = ShardRouter.builder()
                .map(shards.map())
                .credentials("nobody_here", "secret")
                .connectionTimeout(Duration.ofMinutes(30))
                .build()) {
            AuthenticationFailedException failure = catchThrowableOfType(
                    AuthenticationFailedException.class, () -> refused.write(7, tx -> Photos.insert(tx, 7, "never")));

            assertThat(failure).hasMessageStartingWith("server db2 does not let user nobody_here log in: ");
            assertThat(failure.getMessage()).doesNotContain("secret");
            assertThat(failure.server()).isEqualTo("db2");
            assertThatThrownBy(() -> refused.fetch(List.of(id(7)), IDS))
                    .isInstanceOf(AuthenticationFailedException.class);
        }
    }

    private static long id(int shard) {
        return org.shardflake.IdLayout.DEFAULT.encode(1_800_000_000_000L, shard, 1);
    }

    @Test
    void credentialsReachTheCatalogToo() throws SQLException {
        TestDatabase catalog = shards.database(0);
        shards.catalogIn(catalog);
        String url = catalog.jdbcUrl().replaceFirst("^jdbc:", "").replaceFirst("[?].*", "");
        try (ShardRouter built = shards.router()
                .catalog(url.replaceFirst("//", "//nobody_here@"))
                .build()) {
            assertThat(built.map().version()).isEqualTo(1);
            await().atMost(Duration.ofSeconds(60))
                    .until(() -> shards.number(
                                    0,
                                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'shardflake router, listening'")
                            == 1);
        } finally {
            shards.execute(0, "DROP SCHEMA shardflake_catalog CASCADE");
        }
    }

    @Test
    void aReadIsRunAgainAfterItsConnectionWasLost() throws SQLException {
        AtomicInteger runs = new AtomicInteger();

        assertThat(router.<Long, SQLException>read(7, tx -> {
                    if (runs.incrementAndGet() == 1) {
                        terminate(tx);
                    }
                    return Photos.count(tx, 7);
                }))
                .isZero();
        assertThat(runs).hasValue(2);
    }

    @Test
    void aWriteWhoseConnectionWasLostBeforeItsCommitIsRunAgainAndDoneOnce() throws SQLException {
        AtomicInteger runs = new AtomicInteger();

        router.run(7, tx -> {
            Photos.insert(tx, 7, "once");
            if (runs.incrementAndGet() == 1) {
                terminate(tx);
                Photos.count(tx, 7);
            }
        });

        assertThat(runs).hasValue(2);
        assertThat(shards.number(1, "SELECT count(*) FROM shard_0007.photo")).isEqualTo(1);
        shards.execute(1, "DELETE FROM shard_0007.photo");
    }

    @Test
    void aConnectionThatIsLostBeforeItsFirstTransactionIsReplaced() throws SQLException {
        AtomicInteger lost = new AtomicInteger();
        try (ShardRouter other = shards.router()
                .map(shards.map())
                .customizePools((server, config) ->
                        config.setDataSource(losing((PGSimpleDataSource) config.getDataSource(), lost)))
                .build()) {
            assertThat(other.<Long, SQLException>write(7, tx -> Photos.count(tx, 7)))
                    .isZero();
        }
        assertThat(lost).hasValue(1);
    }

    @Test
    void aPoolStartsThoughItsFirstConnectionCannotBeSetUp() throws SQLException {
        for (int server = 0; server < 2; server++) {
            shards.execute(server, "CREATE SEQUENCE set_ups; GRANT USAGE ON SEQUENCE set_ups TO PUBLIC");
        }
        try (ShardRouter other = shards.router()
                .map(shards.map())
                .customizePools((server, config) ->
                        config.setConnectionInitSql("SELECT 1 / (pg_catalog.nextval('public.set_ups') - 1)"))
                .build()) {
            assertThat(other.<Long, SQLException>write(7, tx -> Photos.count(tx, 7)))
                    .isZero();
        }
    }

    /** Ends the session of its first connection when that makes its first statement. */
    private static DataSource losing(PGSimpleDataSource source, AtomicInteger lost) {
        return new ForwardingDataSource(source) {
            @Override
            public Connection getConnection() throws SQLException {
                Connection connection = source.getConnection();
                return new ForwardingConnection(connection) {
                    @Override
                    public Statement createStatement() throws SQLException {
                        if (lost.compareAndSet(0, 1)) {
                            terminate(connection);
                        }
                        return super.createStatement();
                    }
                };
            }
        };
    }

    @Test
    void aConnectionThatIsLostEachTimeIsGivenUp() {
        AtomicInteger runs = new AtomicInteger();

        assertThatThrownBy(() -> router.read(7, tx -> {
                    runs.incrementAndGet();
                    terminate(tx);
                    return Photos.count(tx, 7);
                }))
                .isInstanceOf(SQLException.class);
        assertThat(runs).hasValue(5);
    }

    @Test
    void aShardThatIsNotOnItsServerIsNoMissingTable() throws SQLException {
        shards.execute(1, "ALTER SCHEMA shard_0007 RENAME TO gone_0007");
        try {
            for (boolean isWrite : new boolean[] {true, false}) {
                ShardFencedException failure = catchThrowableOfType(ShardFencedException.class, () -> {
                    if (isWrite) {
                        router.run(7, tx -> Photos.insert(tx, 7, "never"));
                    } else {
                        router.read(7, tx -> Photos.count(tx, 7));
                    }
                });
                assertThat(failure)
                        .hasMessageStartingWith(
                                "shard 7 is not on server db2, where map version 1 has it (epoch 1); tried 5 times in ");
            }
            assertThat(catchThrowableOfType(ShardFencedException.class, () -> router.fetch(List.of(id(7), id(9)), IDS))
                            .shard())
                    .isEqualTo(7);
        } finally {
            shards.execute(1, "ALTER SCHEMA gone_0007 RENAME TO shard_0007");
        }
    }

    @Test
    void aMissingTableIsWhatItIs() {
        AtomicInteger runs = new AtomicInteger();
        SQLException failure = catchThrowableOfType(
                SQLException.class,
                () -> router.run(7, tx -> {
                    runs.incrementAndGet();
                    try (Statement statement = tx.connection().createStatement()) {
                        statement.execute(tx.sql("SELECT 1 FROM ${shard.schema}.nothing"));
                    }
                }));
        assertThat(failure.getSQLState()).isEqualTo("42P01");
        assertThat(runs).hasValue(1);
    }

    @Test
    void aClosedRouterSaysSoEverywhere() throws SQLException {
        router.close();

        List<org.assertj.core.api.ThrowableAssert.ThrowingCallable> uses = List.of(
                () -> router.write(7, tx -> 1),
                () -> router.read(7, tx -> 1),
                () -> router.readReplica(ShardKey.uid(7), tx -> 1),
                () -> router.connection(ShardKey.uid(7)),
                () -> router.fetch(List.of(id(7)), IDS),
                () -> router.newest(1, IDS),
                () -> router.scatter(Scatter.allShards(), tx -> 1),
                () -> router.health());
        for (org.assertj.core.api.ThrowableAssert.ThrowingCallable use : uses) {
            assertThatIllegalStateException().isThrownBy(use).withMessage("the router is closed");
        }
        assertThatThrownBy(() -> router.dataSource()
                        .createConnectionBuilder()
                        .shardingKey(ShardKey.uid(7))
                        .build())
                .isInstanceOf(SQLException.class)
                .hasMessage("the router is closed");
        router.close();
    }

    @Test
    void closeLetsWorkEndAndTakesNoMore() throws Exception {
        CountDownLatch working = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Future<Long> work = threads.submit(() -> router.write(7, tx -> {
            Photos.insert(tx, 7, "one");
            working.countDown();
            goOn.await();
            return Photos.insert(tx, 7, "two");
        }));
        working.await();
        Connection lent = router.connection(ShardKey.shard(8));

        Future<?> closing = threads.submit(router::close);
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(() -> assertThatIllegalStateException().isThrownBy(() -> router.read(7, tx -> 1)));
        assertThat(closing).isNotDone();
        goOn.countDown();
        assertThat(work.get()).isPositive();
        try (lent;
                Statement statement = lent.createStatement()) {
            statement.execute("SELECT 1");
        }
        closing.get();

        assertThat(shards.number(1, "SELECT count(*) FROM shard_0007.photo")).isEqualTo(2);
        shards.execute(1, "DELETE FROM shard_0007.photo");
    }

    @Test
    void closeCutsWorkThatIsNotDoneInTime() throws Exception {
        ShardRouter hurried = shards.router()
                .map(shards.map())
                .closeTimeout(Duration.ofMillis(200))
                .build();
        CountDownLatch working = new CountDownLatch(1);
        Future<?> work = threads.submit(() -> hurried.write(7, tx -> {
            try (Statement statement = tx.connection().createStatement()) {
                working.countDown();
                return statement.execute("SELECT pg_sleep(50)");
            }
        }));
        working.await();
        hurried.close();

        assertThatThrownBy(work::get).isInstanceOf(ExecutionException.class);
    }

    @Test
    void aScatterThatFailsLogsNothing() throws Exception {
        PrintStream err = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try (Stream<ShardResult<Boolean>> results =
                router.scatter(Scatter.allShards().deadline(Duration.ofSeconds(2)), tx -> {
                    try (Statement statement = tx.connection().createStatement()) {
                        return statement.execute(tx.shard() == 4 ? "SELECT 1 / 0" : "SELECT pg_sleep(30)");
                    }
                })) {
            assertThatThrownBy(results::toList).isInstanceOf(ScatterException.class);
        } finally {
            await().atMost(Duration.ofSeconds(60))
                    .until(() -> router.pools().stream().allMatch(pool -> pool.active() == 0));
            System.setErr(err);
        }
        assertThat(log.toString(StandardCharsets.UTF_8)).doesNotContain("WARN").doesNotContain("Exception");
    }

    /** Ends the session of a transaction from outside. */
    private static void terminate(ShardTransaction tx) throws SQLException {
        terminate(tx.connection());
    }

    private static void terminate(Connection connection) throws SQLException {
        int pid = connection.unwrap(PGConnection.class).getBackendPID();
        shards.execute(1, "SELECT pg_terminate_backend(%s, 5000)".formatted(pid));
    }
}
