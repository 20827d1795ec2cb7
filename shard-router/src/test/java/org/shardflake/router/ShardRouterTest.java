/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardOutOfRangeException;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardflakeId;
import org.shardflake.Sharding;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.exception.CommitOutcomeUnknownException;
import org.shardflake.router.exception.CrossShardException;
import org.shardflake.router.exception.PoolExhaustedException;
import org.shardflake.router.exception.ServerUnavailableException;
import org.shardflake.router.exception.ShardFencedException;
import org.shardflake.router.exception.ShardSqlException;
import org.shardflake.router.health.RouterHealth;
import org.shardflake.sql.FunctionLibrary;

class ShardRouterTest {

    private static final int SHARDS = 20;

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;
    private static ShardRouter router;

    @BeforeAll
    static void start() throws SQLException {
        shards = PhotoShards.create(postgres, 2, SHARDS);
        router = shards.router().map(shards.map()).build();
    }

    @AfterAll
    static void close() {
        router.close();
    }

    @BeforeEach
    void empty() throws SQLException {
        for (int shard = 0; shard < SHARDS; shard++) {
            shards.execute(shard % 2, "DELETE FROM %s.photo".formatted(Sharding.schema(shard)));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {7, 2007, -3, Long.MIN_VALUE, Long.MAX_VALUE})
    void writesToTheServerAndSchemaOfAUid(long uid) throws SQLException {
        long id = router.write(uid, tx -> Photos.insert(tx, uid, "a photo"));

        int shard = (int) Math.floorMod(uid, (long) SHARDS);
        assertThat(IdLayout.shard(id)).isEqualTo(shard);
        assertThat(shards.number(
                        shard % 2, "SELECT uid FROM %s.photo WHERE id = %s".formatted(Sharding.schema(shard), id)))
                .isEqualTo(uid);
        assertThat(router.<Long, SQLException>read(ShardKey.id(id), tx -> Photos.count(tx, uid)))
                .isEqualTo(1);
        assertThat(router.<Long, SQLException>read(ShardflakeId.of(id), tx -> Photos.count(tx, uid)))
                .isEqualTo(1);
        assertThat(router.<Integer, SQLException>write(ShardflakeId.of(id), tx -> tx.shard()))
                .isEqualTo(shard);
        router.run(ShardflakeId.of(id), tx -> tx.require(ShardKey.uid(uid)));
    }

    @Test
    void locatesKeys() {
        assertThat(router.locate(ShardKey.uid(7)).server().name()).isEqualTo("db2");
        assertThat(router.schema(ShardKey.uid(2007))).isEqualTo("shard_0007");
        assertThatExceptionOfType(ShardOutOfRangeException.class)
                .isThrownBy(() -> router.locate(ShardKey.id(11637205501278089L)));
    }

    @Test
    void rollsBackWhatThrows() throws SQLException {
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> router.write(7, tx -> {
                    Photos.insert(tx, 7, "never");
                    throw new IllegalArgumentException("the caller's own");
                }))
                .withMessage("the caller's own");

        assertThat(shards.number(1, "SELECT count(*) FROM shard_0007.photo")).isZero();
    }

    @Test
    void throwsWhatAStatementThrows() {
        SQLException failure = catchThrowableOfType(
                SQLException.class,
                () -> router.write(7, tx -> {
                    try (Statement statement = tx.connection().createStatement()) {
                        return statement.execute("SELECT 1 / 0");
                    }
                }));

        assertThat(failure.getSQLState()).isEqualTo("22012");
    }

    @Test
    void refusesToWriteInARead() {
        SQLException failure =
                catchThrowableOfType(SQLException.class, () -> router.read(7, tx -> Photos.insert(tx, 7, "never")));

        assertThat(failure.getSQLState()).isEqualTo("25006");
    }

    @Test
    void givesConnectionsBackAsTheyWere() throws SQLException {
        for (int i = 0; i < 30; i++) {
            router.<Long, SQLException>read(7, tx -> Photos.count(tx, 7));
        }
        try (Connection connection = router.connection(ShardKey.shard(7))) {
            assertThat(connection.getAutoCommit()).isTrue();
            assertThat(connection.isReadOnly()).isFalse();
        }
        assertThat(router.pools()).allMatch(pool -> pool.active() == 0);
    }

    @Test
    void namesTheShardAndTheServerWhenACommitIsRefused() throws SQLException {
        shards.execute(1, "ALTER TABLE shard_0007.photo ADD UNIQUE (uid) DEFERRABLE INITIALLY DEFERRED");
        ShardSqlException failure = catchThrowableOfType(
                ShardSqlException.class,
                () -> router.write(7, tx -> {
                    Photos.insert(tx, 7, "one");
                    return Photos.insert(tx, 7, "two");
                }));

        assertThat(failure.sqlState()).isEqualTo("23505");
        assertThat(failure.server()).isEqualTo("db2");
        assertThat(shards.number(1, "SELECT count(*) FROM shard_0007.photo")).isZero();
        shards.execute(1, "ALTER TABLE shard_0007.photo DROP CONSTRAINT photo_uid_key");
    }

    @Test
    void namesBothShardsWhenWorkCrossesThem() throws SQLException {
        CrossShardException failure = catchThrowableOfType(
                CrossShardException.class,
                () -> router.write(7, tx -> {
                    Photos.insert(tx, 7, "never");
                    return router.write(8, other -> Photos.insert(other, 8, "never"));
                }));

        assertThat(failure)
                .hasMessage(
                        "the work is in shard 8, but this transaction is of shard 7; a transaction belongs to one shard, so end it first");
        assertThat(failure.shard()).isEqualTo(7);
        assertThat(failure.otherShard()).isEqualTo(8);
        assertThat(shards.number(1, "SELECT count(*) FROM shard_0007.photo")).isZero();
    }

    @Test
    void refusesIdsUidsAndConnectionsOfAnotherShardInsideATransaction() {
        router.run(7, tx -> {
            tx.require(ShardKey.uid(27));
            tx.require(ShardKey.shard(7));
            assertThatExceptionOfType(CrossShardException.class)
                    .isThrownBy(() -> tx.require(ShardKey.uid(28)))
                    .withMessageStartingWith("uid 28 is in shard 8, but this transaction is of shard 7");
            assertThatExceptionOfType(CrossShardException.class)
                    .isThrownBy(() -> tx.require(ShardKey.id(IdLayout.DEFAULT.encode(1_800_000_000_000L, 9, 1))))
                    .withMessageContaining("is in shard 9, but this transaction is of shard 7");
            assertThatExceptionOfType(CrossShardException.class)
                    .isThrownBy(() -> router.connection(ShardKey.uid(28)).close());
            assertThatIllegalStateException().isThrownBy(() -> router.scatter(Scatter.allShards(), other -> 1));
        });
    }

    @Test
    void joinsTheTransactionOfTheSameShard() throws SQLException {
        assertThatIllegalStateException()
                .isThrownBy(() -> router.write(7, tx -> {
                    Photos.insert(tx, 7, "one");
                    long seen = router.write(27, same -> {
                        Photos.insert(same, 27, "two");
                        return Photos.count(same, 7);
                    });
                    assertThat(seen).isEqualTo(1);
                    throw new IllegalStateException("both are undone");
                }));

        assertThat(shards.number(1, "SELECT count(*) FROM shard_0007.photo")).isZero();
    }

    @Test
    void refusesAWriteInsideARead() {
        assertThatIllegalStateException()
                .isThrownBy(() -> router.read(7, tx -> router.write(7, same -> Photos.insert(same, 7, "never"))))
                .withMessage("a write inside a read of shard 7; make the outer one a write");
    }

    @Test
    void keepsWorkFromEndingItsTransaction() throws SQLException {
        router.run(7, tx -> {
            Connection connection = tx.connection();
            Photos.insert(tx, 7, "kept");
            assertThatExceptionOfType(SQLException.class).isThrownBy(connection::commit);
            assertThatExceptionOfType(SQLException.class).isThrownBy(connection::rollback);
            assertThatExceptionOfType(SQLException.class).isThrownBy(() -> connection.setAutoCommit(true));
            var savepoint = connection.setSavepoint();
            Photos.insert(tx, 7, "undone");
            connection.rollback(savepoint);
            connection.close();
        });

        assertThat(shards.number(1, "SELECT count(*) FROM shard_0007.photo")).isEqualTo(1);
    }

    @Test
    void runsSerializationFailuresAgainOnlyWhenAsked() throws SQLException {
        AtomicInteger runs = new AtomicInteger();
        ShardWork<Integer, SQLException> losing = tx -> {
            if (runs.incrementAndGet() < 3) {
                raise(tx, "40001");
            }
            return runs.get();
        };

        assertThatExceptionOfType(SQLException.class).isThrownBy(() -> router.write(7, losing));
        assertThat(runs).hasValue(1);

        try (ShardRouter asked = shards.router()
                .map(shards.map())
                .retryPolicy(RetryPolicy.DEFAULT.withSerializationFailures())
                .build()) {
            runs.set(0);
            assertThat(asked.write(7, losing)).isEqualTo(3);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"23505", "22012", "SF001"})
    void doesNotTakeAFailureThatWorkSwallowedForSuccess(String state) throws SQLException {
        AtomicInteger runs = new AtomicInteger();

        ShardSqlException failure = catchThrowableOfType(
                ShardSqlException.class,
                () -> router.write(7, tx -> {
                    runs.incrementAndGet();
                    Photos.insert(tx, 7, "lost");
                    try {
                        raise(tx, state);
                    } catch (SQLException e) {
                        return "never mind";
                    }
                    return "not reached";
                }));

        assertThat(failure).hasMessageContaining("a statement has failed and the work went on");
        assertThat(failure.sqlState()).isEqualTo("25P02");
        assertThat(runs).hasValue(1);
        assertThat(shards.number(1, "SELECT count(*) FROM shard_0007.photo")).isZero();
    }

    @Test
    void keepsNothingWhenWorkThatJoinedHasFailed() throws SQLException {
        assertThatExceptionOfType(ShardSqlException.class)
                .isThrownBy(() -> router.write(7, tx -> {
                    try {
                        return router.write(27, same -> {
                            Photos.insert(same, 27, "half");
                            throw new IllegalStateException("the other half");
                        });
                    } catch (IllegalStateException e) {
                        return "never mind";
                    }
                }))
                .withMessageContaining("work that joined this transaction has failed");

        assertThat(shards.number(1, "SELECT count(*) FROM shard_0007.photo")).isZero();
    }

    @Test
    void givesTheTransactionsOwnConnectionInsideIt() throws SQLException {
        assertThatIllegalStateException()
                .isThrownBy(() -> router.run(7, tx -> {
                    try (Connection same = router.connection(ShardKey.uid(27));
                            Statement statement = same.createStatement()) {
                        statement.execute("INSERT INTO shard_0007.photo (uid) VALUES (27)");
                    }
                    assertThat(Photos.count(tx, 27)).isEqualTo(1);
                    throw new IllegalStateException("undone");
                }));

        assertThat(shards.number(1, "SELECT count(*) FROM shard_0007.photo")).isZero();
    }

    @Test
    void saysThatNothingWasCommittedWhenTheConnectionWasLostBefore() throws SQLException {
        ShardSqlException failure = catchThrowableOfType(
                ShardSqlException.class,
                () -> router.write(7, tx -> {
                    Photos.insert(tx, 7, "lost");
                    terminate(tx, 1);
                    try {
                        return Photos.count(tx, 7);
                    } catch (SQLException e) {
                        return -1L;
                    }
                }));

        assertThat(failure).hasMessageContaining("the connection was lost before the commit");
    }

    @Test
    void givesUpOnAFencedShardInTime() {
        AtomicInteger runs = new AtomicInteger();
        try (ShardRouter impatient = shards.router()
                .map(shards.map())
                .retryPolicy(RetryPolicy.DEFAULT.withMaxTries(4).withDeadline(Duration.ofSeconds(20)))
                .build()) {
            ShardFencedException failure = catchThrowableOfType(
                    ShardFencedException.class,
                    () -> impatient.run(7, tx -> {
                        runs.incrementAndGet();
                        raise(tx, "SF001");
                    }));

            assertThat(runs).hasValue(4);
            assertThat(failure)
                    .hasMessageStartingWith(
                            "shard 7 takes no writes on server db2, where map version 1 has it (epoch 1); tried 4 times in ");
            assertThat(failure.shard()).isEqualTo(7);
            assertThat(failure.server()).isEqualTo("db2");
            assertThat(failure.epoch()).isEqualTo(1);
        }
    }

    @Test
    void findsTheFenceInsideOtherExceptions() {
        AtomicInteger runs = new AtomicInteger();

        int result = router.write(7, tx -> {
            if (runs.incrementAndGet() == 1) {
                try {
                    raise(tx, "SF001");
                } catch (SQLException e) {
                    throw new IllegalStateException("as jOOQ and Spring wrap it", new RuntimeException(e));
                }
            }
            return runs.get();
        });

        assertThat(result).isEqualTo(2);
    }

    @Test
    void runsAgainWhenTheFenceWasMetInABatch() throws SQLException {
        shards.execute(1, """
                CREATE FUNCTION public.refuse_once() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF nextval('public.refusals') = 1 THEN RAISE EXCEPTION 'no' USING ERRCODE = 'SF001'; END IF;
                    RETURN NULL;
                END $$;
                CREATE SEQUENCE public.refusals;
                CREATE TRIGGER refuse BEFORE INSERT ON shard_0007.photo EXECUTE FUNCTION public.refuse_once();
                """);
        router.write(7, tx -> {
            try (PreparedStatement insert =
                    tx.connection().prepareStatement(tx.sql("INSERT INTO ${shard.schema}.photo (uid) VALUES (7)"))) {
                insert.addBatch();
                insert.addBatch();
                return insert.executeBatch();
            }
        });

        assertThat(shards.number(1, "SELECT count(*) FROM shard_0007.photo")).isEqualTo(2);
        shards.execute(1, "DROP FUNCTION public.refuse_once() CASCADE");
    }

    @Test
    void doesNotRunAgainWhenTheOutcomeOfACommitIsUnknown() throws SQLException {
        AtomicInteger runs = new AtomicInteger();
        CommitOutcomeUnknownException failure = catchThrowableOfType(
                CommitOutcomeUnknownException.class,
                () -> router.run(7, tx -> {
                    runs.incrementAndGet();
                    Photos.insert(tx, 7, "perhaps");
                    terminate(tx, 1);
                }));

        assertThat(runs).hasValue(1);
        assertThat(failure.shard()).isEqualTo(7);
        assertThat(failure.server()).isEqualTo("db2");
        assertThat(failure).hasMessageContaining("Read back whether the writes are there");
    }

    @Test
    void saysThatAPoolIsExhausted() throws Exception {
        try (ShardRouter small = shards.router()
                .map(shards.map())
                .poolSize(1)
                .connectionTimeout(Duration.ofMillis(300))
                .build()) {
            CountDownLatch holding = new CountDownLatch(1);
            CountDownLatch done = new CountDownLatch(1);
            ExecutorService thread = Executors.newSingleThreadExecutor();
            Future<?> holder = thread.submit(() -> {
                small.run(7, tx -> {
                    holding.countDown();
                    done.await();
                });
                return true;
            });
            holding.await();

            PoolExhaustedException failure = catchThrowableOfType(
                    PoolExhaustedException.class, () -> small.write(7, tx -> Photos.insert(tx, 7, "never")));

            assertThat(failure).hasMessageStartingWith("all 1 connections to server db2 were in use for 300 ms");
            assertThat(small.<Long, SQLException>write(8, tx -> Photos.count(tx, 8)))
                    .isZero();
            done.countDown();
            holder.get();
            thread.shutdown();
        }
    }

    @Test
    void saysWhichServerIsDownAndServesTheOthers() throws SQLException {
        Server down = new Server("db2", "postgresql://127.0.0.1:1/nowhere");
        ShardMap map = ShardMap.of(
                1,
                shards.map().sharding(),
                IdLayout.DEFAULT,
                List.of(shards.map().server("db1"), down),
                shard -> new ShardPlacement(shard, shard % 2 == 0 ? shards.map().server("db1") : down, 1));
        try (ShardRouter half = shards.router()
                .map(map)
                .connectionTimeout(Duration.ofMillis(300))
                .build()) {
            ServerUnavailableException failure = catchThrowableOfType(
                    ServerUnavailableException.class, () -> half.read(7, tx -> Photos.count(tx, 7)));

            assertThat(failure)
                    .hasMessageStartingWith("cannot connect to server db2 at postgresql://127.0.0.1:1/nowhere: ");
            assertThat(half.<Long, SQLException>read(8, tx -> Photos.count(tx, 8)))
                    .isZero();
            RouterHealth health = half.health();
            assertThat(health.isHealthy()).isFalse();
            assertThat(health.servers())
                    .anySatisfy(server -> {
                        assertThat(server.server()).isEqualTo("db1");
                        assertThat(server.problem()).isEmpty();
                    })
                    .anySatisfy(server -> {
                        assertThat(server.server()).isEqualTo("db2");
                        assertThat(server.problem()).isPresent();
                    });
        }
    }

    @Test
    void refusesWorkAfterItWasClosed() {
        ShardRouter closed = shards.router().map(shards.map()).build();
        closed.close();

        assertThatIllegalStateException()
                .isThrownBy(() -> closed.read(7, tx -> 1))
                .withMessage("the router is closed");
    }

    @Test
    void needsACatalogOrAMap() {
        assertThatIllegalStateException()
                .isThrownBy(() -> ShardRouter.builder().build())
                .withMessage("a router needs a catalog or a map, and not both");
    }

    private static void raise(ShardTransaction tx, String state) throws SQLException {
        try (Statement statement = tx.connection().createStatement()) {
            statement.execute("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '%s'; END $$".formatted(state));
        }
    }

    /** Ends the session of a transaction from outside. */
    private static void terminate(ShardTransaction tx, int server) throws SQLException {
        int pid = tx.connection().unwrap(PGConnection.class).getBackendPID();
        shards.execute(server, "SELECT pg_terminate_backend(%s, 5000)".formatted(pid));
    }
}
