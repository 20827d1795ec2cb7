/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.IdLayout;
import org.shardflake.ShardKey;
import org.shardflake.ShardOutOfRangeException;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.sql.FunctionLibrary;

class ManyShardsTest {

    private static final int SHARDS = 30;
    private static final ShardQuery<String> TITLES =
            ShardQuery.of("SELECT id, title FROM ${shard.schema}.photo", row -> row.getString("title"));

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2).prepare(FunctionLibrary::deploy);

    private static PhotoShards shards;
    private static ShardRouter router;

    private final List<Long> ids = new ArrayList<>();

    @BeforeAll
    static void start() throws SQLException {
        shards = PhotoShards.create(postgres, 2, SHARDS);
        router = shards.router().map(shards.map()).build();
    }

    @AfterAll
    static void close() {
        router.close();
    }

    /** Three photos a shard: uid 0 to 89, titled by their uid. Within milliseconds, ids of different shards have no order. */
    @BeforeEach
    void insertPhotos() throws SQLException {
        for (int shard = 0; shard < SHARDS; shard++) {
            shards.execute(shard % 2, "DELETE FROM %s.photo".formatted(Sharding.schema(shard)));
        }
        for (int uid = 0; uid < 3 * SHARDS; uid++) {
            String title = "photo " + uid;
            long user = uid;
            ids.add(router.write(user, tx -> Photos.insert(tx, user, title)));
        }
    }

    @Test
    void fetchesRowsInTheOrderAskedWithoutThoseThatAreNotThere() {
        long missing = IdLayout.DEFAULT.encode(1_800_000_000_000L, 5, 1);

        Map<Long, String> found =
                router.fetch(List.of(ids.get(40), ids.get(7), missing, ids.get(7), ids.get(80)), TITLES);

        assertThat(found.keySet()).containsExactly(ids.get(40), ids.get(7), ids.get(80));
        assertThat(found.values()).containsExactly("photo 40", "photo 7", "photo 80");
        assertThat(router.fetch(List.of(), TITLES)).isEmpty();
    }

    @Test
    void fetchesWithOneStatementPerServer() {
        // A transaction each, as they are not part of a larger one.
        ShardQuery<Long> counted = ShardQuery.of(
                "SELECT id, txid_current() AS transaction FROM ${shard.schema}.photo",
                row -> row.getLong("transaction"));

        Map<Long, Long> transactions = router.fetch(ids, counted);

        assertThat(transactions).hasSize(90);
        assertThat(Set.copyOf(transactions.values())).hasSizeBetween(1, 2);
    }

    @Test
    void bindsParametersInEveryShard() {
        ShardQuery<String> some = ShardQuery.of(
                        "SELECT id, title FROM ${shard.schema}.photo WHERE uid % ? = ?", row -> row.getString("title"))
                .bind(10L, 3L);

        assertThat(router.fetch(ids, some).values())
                .containsExactly(
                        "photo 3",
                        "photo 13",
                        "photo 23",
                        "photo 33",
                        "photo 43",
                        "photo 53",
                        "photo 63",
                        "photo 73",
                        "photo 83");
        assertThat(router.newest(3, some)).hasSize(3).allMatch(title -> title.endsWith("3"));
    }

    @Test
    void readsTheNewestOfAllShardsPageByPage() {
        List<Long> newestFirst = ids.stream().sorted(Comparator.reverseOrder()).toList();

        assertThat(router.newest(4, TITLES)).isEqualTo(titles(newestFirst.subList(0, 4)));
        assertThat(router.newestBefore(newestFirst.get(3), 2, TITLES)).isEqualTo(titles(newestFirst.subList(4, 6)));
        assertThat(router.newest(1000, TITLES)).isEqualTo(titles(newestFirst));
        assertThat(router.newestBefore(newestFirst.get(89), 2, TITLES)).isEmpty();
    }

    private List<String> titles(List<Long> some) {
        return some.stream().map(id -> "photo " + ids.indexOf(id)).toList();
    }

    @Test
    void refusesQueriesItCannotPutTogether() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ShardQuery.of("SELECT id FROM photo", row -> 1))
                .withMessage(
                        "the query does not say where the shard's schema goes; write its tables as ${shard.schema}.photo: SELECT id FROM photo");
        assertThatIllegalArgumentException().isThrownBy(() -> router.newest(0, TITLES));
        assertThatExceptionOfType(ShardOutOfRangeException.class)
                .isThrownBy(() -> router.fetch(List.of(IdLayout.DEFAULT.encode(1_800_000_000_000L, 30, 1)), TITLES))
                .withMessageContaining("is of shard 30, which is out of range 0..29");
        ScatterException failure = catchThrowableOfType(
                ScatterException.class,
                () -> router.newest(1, ShardQuery.of("SELECT id FROM ${shard.schema}.nothing", row -> 1)));
        assertThat(failure).hasMessageContaining("relation \"shard_0000.nothing\" does not exist");
        assertThat(failure.server()).isEqualTo("db1");
    }

    @Test
    void givesUpOnASlowQueryAtItsDeadline() {
        ShardQuery<String> slow = ShardQuery.of(
                        "SELECT id, title, pg_sleep(10) FROM ${shard.schema}.photo", row -> row.getString("title"))
                .deadline(Duration.ofMillis(300));

        assertThatExceptionOfType(ScatterException.class)
                .isThrownBy(() -> router.fetch(ids, slow))
                .withMessageContaining("had no result within the deadline of 300 ms");
        await().atMost(Duration.ofSeconds(30)).until(() -> running(0) + running(1) == 0);
    }

    @Test
    void cancelsWhatOtherServersDoWhenOneFails() {
        ShardQuery<String> fails = ShardQuery.of(
                "SELECT id, title, CASE '${shard.schema}' WHEN 'shard_0000' THEN (1 / (id - id))::text ELSE pg_sleep(50)::text END FROM ${shard.schema}.photo",
                row -> row.getString("title"));

        assertThatExceptionOfType(ScatterException.class)
                .isThrownBy(() -> router.fetch(ids, fails))
                .withMessageContaining("division by zero");
        await().atMost(Duration.ofSeconds(30)).until(() -> running(0) + running(1) == 0);
    }

    @Test
    void scattersOverAllShards() {
        try (Stream<ShardResult<Long>> results =
                router.scatter(Scatter.allShards(), tx -> Photos.count(tx, tx.shard()))) {
            assertThat(results.map(ShardResult::get)).hasSize(SHARDS).containsOnly(1L);
        }
    }

    @Test
    void scattersOverSomeShardsAFewAtATime() {
        AtomicInteger running = new AtomicInteger();
        Set<Integer> parallel = ConcurrentHashMap.newKeySet();
        Scatter three = Scatter.over(ShardSet.parse("3,5,10-20")).parallelism(3);

        try (Stream<ShardResult<Integer>> results = router.scatter(three, tx -> {
            parallel.add(running.incrementAndGet());
            Photos.count(tx, 1);
            running.decrementAndGet();
            return tx.shard();
        })) {
            assertThat(results.map(ShardResult::get))
                    .containsExactlyInAnyOrderElementsOf(
                            IntStream.concat(IntStream.of(3, 5), IntStream.rangeClosed(10, 20))
                                    .boxed()
                                    .toList());
        }
        assertThat(parallel).allMatch(reads -> reads <= 3);
    }

    @Test
    void failsAtTheFirstShardThatFails() {
        AtomicInteger runs = new AtomicInteger();
        try (Stream<ShardResult<Integer>> results =
                router.scatter(Scatter.allShards().parallelism(1), tx -> failAt(tx, 4, runs))) {
            ScatterException failure = catchThrowableOfType(ScatterException.class, results::toList);

            assertThat(failure)
                    .hasMessageStartingWith("shard 4 on server db1 failed: ")
                    .hasMessageContaining("division by zero");
            assertThat(failure.server()).isEqualTo("db1");
        }
        assertThat(runs).hasValueLessThan(SHARDS);
    }

    @Test
    void collectsFailuresWhenAsked() {
        try (Stream<ShardResult<Integer>> results =
                router.scatter(Scatter.allShards().collectFailures(), tx -> failAt(tx, 4, new AtomicInteger()))) {
            List<ShardResult<Integer>> all = results.toList();

            assertThat(all).hasSize(SHARDS);
            assertThat(all.stream()
                            .filter(ShardResult.Failure.class::isInstance)
                            .map(ShardResult::shard))
                    .containsExactly(4);
        }
    }

    private static int failAt(ShardTransaction tx, int shard, AtomicInteger runs) throws SQLException {
        runs.incrementAndGet();
        if (tx.shard() == shard) {
            try (Statement statement = tx.connection().createStatement()) {
                statement.execute("SELECT 1 / 0");
            }
        }
        return tx.shard();
    }

    @Test
    void cancelsAndReportsShardsThatAreLate() {
        Scatter impatient = Scatter.allShards().deadline(Duration.ofMillis(500)).collectFailures();

        try (Stream<ShardResult<Integer>> results = router.scatter(impatient, tx -> {
            if (tx.shard() == 4) {
                sleep(tx, 50);
            }
            return tx.shard();
        })) {
            List<ShardResult<Integer>> all = results.toList();

            assertThat(all).hasSize(SHARDS);
            assertThat(all.stream()
                            .filter(ShardResult.Failure.class::isInstance)
                            .map(ShardResult::shard))
                    .containsExactly(4);
            assertThatExceptionOfType(ScatterException.class)
                    .isThrownBy(() -> all.get(SHARDS - 1).get())
                    .withMessage(
                            "shard 4 on server db1 had no result within the deadline of 500 ms; what ran there was cancelled");
        }
        await().atMost(Duration.ofSeconds(30)).until(() -> running(0) == 0);
    }

    @Test
    void cancelsAStatementThatBeginsAfterTheCancel() throws Exception {
        Scatter impatient = Scatter.over(ShardSet.parse("4")).deadline(Duration.ofMillis(100));
        BlockingQueue<Throwable> ends = new LinkedBlockingQueue<>();

        try (Stream<ShardResult<Integer>> results = router.scatter(impatient, tx -> {
            LockSupport.parkNanos(Duration.ofMillis(500).toNanos());
            ends.add(catchThrowableOfType(SQLException.class, () -> sleep(tx, 50)));
            return tx.shard();
        })) {
            assertThatExceptionOfType(ScatterException.class)
                    .isThrownBy(results::toList)
                    .withMessageContaining("had no result within the deadline of 100 ms");
        }
        assertThat(ends.poll(30, TimeUnit.SECONDS)).hasMessageContaining("canceling statement due to user request");
        assertThat(running(0)).isZero();
    }

    @Test
    void stopsWhatStillRunsWhenTheStreamIsClosed() {
        AtomicInteger runs = new AtomicInteger();
        try (Stream<ShardResult<Integer>> results =
                router.scatter(Scatter.allShards().parallelism(4), tx -> {
                    runs.incrementAndGet();
                    if (tx.shard() != 0) {
                        sleep(tx, 50);
                    }
                    return tx.shard();
                })) {
            assertThat(results.findFirst()).map(ShardResult::shard).contains(0);
        }

        await().atMost(Duration.ofSeconds(30)).until(() -> running(0) + running(1) == 0);
        await().atMost(Duration.ofSeconds(30))
                .until(() -> router.pools().stream().allMatch(pool -> pool.active() == 0));
        assertThat(runs).hasValueLessThan(SHARDS);
        assertThat(router.locate(ShardKey.shard(1)).server().name()).isEqualTo("db2");
    }

    private static void sleep(ShardTransaction tx, int seconds) throws SQLException {
        try (Statement statement = tx.connection().createStatement()) {
            statement.execute("SELECT pg_sleep(%d)".formatted(seconds));
        }
    }

    private static long running(int server) throws SQLException {
        return shards.number(
                server,
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()");
    }
}
