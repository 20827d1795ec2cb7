/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.AbstractExecutorService;
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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.shardflake.IdLayout;
import org.shardflake.ShardKey;
import org.shardflake.ShardOutOfRangeException;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.exception.ScatterException;
import org.shardflake.sql.FunctionLibrary;

class ManyShardsTest {

    private static final int SHARDS = 30;
    private static final ShardQuery<String> TITLES =
            ShardQuery.of("SELECT id, title FROM ${shard.schema}.photo", row -> row.getString("title"));

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

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

    @Test
    void handsOverTheRowsOfAnyQueryWithTheirShards() {
        ShardQuery<Long> likes = ShardQuery.unqualified(
                        "SELECT uid FROM photo WHERE uid < ? -- some", row -> row.getLong(1))
                .bind(31L);
        Map<Long, Integer> shardByUid = new ConcurrentHashMap<>();

        assertThat(router.forEachRow(likes, shardByUid::put)).isEmpty();

        assertThat(shardByUid)
                .hasSize(31)
                .allSatisfy((uid, shard) -> assertThat(shard).isEqualTo((int) (uid % SHARDS)));
        assertThat(router.count(TITLES.over(ShardSet.of(2, 5)))).isEqualTo(6);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> router.forEachRow(likes, (uid, shard) -> {
                    throw new IllegalArgumentException("enough");
                }))
                .withMessage("enough");
        assertThatExceptionOfType(ShardOutOfRangeException.class)
                .isThrownBy(() -> router.count(TITLES.over(ShardSet.of(SHARDS))));
    }

    @Test
    void aQueryMayEndWithAComment() {
        ShardQuery<String> commented = ShardQuery.of(
                "SELECT id, title FROM ${shard.schema}.photo -- for the first page", row -> row.getString("title"));
        List<String> each = new ArrayList<>();

        router.forEach(commented, each::add);

        assertThat(each).hasSize(90);
        assertThat(router.fetch(ids, commented)).isEqualTo(router.fetch(ids, TITLES));
        assertThat(router.newest(4, commented)).isEqualTo(router.newest(4, TITLES));
        assertThat(router.count(commented)).isEqualTo(90);
        assertThat(router.sum("length(title)", commented)).isEqualTo(router.sum("length(title)", TITLES));
    }

    @Test
    void countsAndAddsUpTheRowsOfAllShards() {
        ShardQuery<String> some = ShardQuery.of(
                        "SELECT uid, title FROM ${shard.schema}.photo WHERE uid % ? = ?", row -> row.getString("title"))
                .bind(10L, 3L);

        assertThat(router.count(TITLES)).isEqualTo(90);
        assertThat(router.count(some)).isEqualTo(9);
        assertThat(router.count(some.bind(1000L, 999L))).isZero();
        assertThat(router.sum("uid", some)).contains(BigDecimal.valueOf(3 + 13 + 23 + 33 + 43 + 53 + 63 + 73 + 83));
        assertThat(router.sum("2 * uid", some)).contains(BigDecimal.valueOf(2 * 387));
        assertThat(router.sum("uid", some.bind(1000L, 999L))).isEmpty();
        assertThatExceptionOfType(ScatterException.class)
                .isThrownBy(() -> router.sum("likes", some))
                .withMessageContaining("column \"likes\" does not exist");
    }

    @Test
    void readsTheFirstOfAllShardsByAnyOrder() {
        ShardQuery<Long> uids = ShardQuery.of("SELECT uid FROM ${shard.schema}.photo", row -> row.getLong("uid"));

        RowOrder<Long> byUid = RowOrder.by("uid", uid -> uid);
        assertThat(router.top(4, RowOrder.byDescending("uid", uid -> uid), uids))
                .containsExactly(89L, 88L, 87L, 86L);
        assertThat(router.top(2, RowOrder.<Long>by("uid % 7", uid -> uid % 7).thenBy("uid", uid -> uid), uids))
                .containsExactly(0L, 7L);
        assertThat(router.top(1000, byUid, uids)).hasSize(90);
        assertThatIllegalArgumentException().isThrownBy(() -> router.top(0, byUid, uids));
    }

    static Stream<RowOrder<Found>> orders() {
        return Stream.of(
                RowOrder.by("id", Found::id),
                RowOrder.<Found>byDescending("title COLLATE \"C\"", Found::title)
                        .thenByDescending("id", Found::id),
                RowOrder.<Found>by("uid % 7", found -> found.uid() % 7).thenByDescending("uid", Found::uid),
                RowOrder.<Found>byDescending("uid % 3", found -> found.uid() % 3)
                        .thenBy("uid % 5", found -> found.uid() % 5)
                        .thenByDescending("id", Found::id),
                RowOrder.<Found>by("md5(title)::uuid", found -> uuid(found.title()))
                        .thenBy("id", Found::id),
                RowOrder.<Found>byDescending("to_timestamp(uid % 4)", found -> Instant.ofEpochSecond(found.uid() % 4))
                        .thenByDescending("id", Found::id));
    }

    record Found(long id, long uid, String title) {}

    private static UUID uuid(String title) {
        try {
            ByteBuffer digest =
                    ByteBuffer.wrap(MessageDigest.getInstance("MD5").digest(title.getBytes(StandardCharsets.UTF_8)));
            return new UUID(digest.getLong(), digest.getLong());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Page by page, every row comes once, and in the order of all rows at once. */
    @ParameterizedTest
    @MethodSource("orders")
    void readsPagesByAnyOrder(RowOrder<Found> order) {
        String sql = "SELECT id, uid, title FROM ${shard.schema}.photo";
        RowMapper<Found> mapper = row -> new Found(row.getLong("id"), row.getLong("uid"), row.getString("title"));
        for (ShardQuery<Found> query : List.of(
                ShardQuery.of(sql, mapper),
                ShardQuery.of(sql + " WHERE uid >= ?", mapper).bind(0))) {
            List<Found> all = router.top(1000, order, query);
            assertThat(all).hasSize(90);
            List<Found> paged = new ArrayList<>(router.top(7, order, query));
            List<Found> page = paged;
            while (!page.isEmpty() && paged.size() < 200) {
                page = router.page(7, order, paged.get(paged.size() - 1), query);
                paged.addAll(page);
            }

            assertThat(paged).isEqualTo(all);
        }
    }

    @Test
    void aRowWithoutAValueHasNoPlaceInAnOrder() {
        ShardQuery<String> titles =
                ShardQuery.of("SELECT null::text AS title FROM ${shard.schema}.photo", row -> row.getString(1));

        assertThatNullPointerException()
                .isThrownBy(() -> router.top(5, RowOrder.by("title", title -> title), titles))
                .withMessage("a row without a value of title has no place in an order");
    }

    @Test
    void handsOverEachRowOfAllShardsOneAfterTheOther() {
        List<String> titles = new ArrayList<>(); // Not thread-safe.

        router.forEach(TITLES, titles::add);

        assertThat(titles).containsExactlyInAnyOrderElementsOf(titles(ids));
        ShardQuery<String> none =
                ShardQuery.of("SELECT id, title FROM ${shard.schema}.photo WHERE false", row -> row.getString("title"));
        router.forEach(none, titles::add);
        assertThat(titles).hasSize(90);
    }

    @Test
    @Tag("full")
    void handsOverNoRowTwiceWhenConnectionsAreLost() {
        List<String> titles = new ArrayList<>();

        router.forEach(TITLES, title -> {
            titles.add(title);
            if (titles.size() == 40) {
                endSessions(0);
                endSessions(1);
            }
        });

        assertThat(titles).containsExactlyInAnyOrderElementsOf(titles(ids));
    }

    private static void endSessions(int server) {
        try {
            shards.number(
                    server,
                    "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void handsOverAllRowsOfAnIdWhenTheConnectionIsLostBetweenThem() {
        AtomicInteger read = new AtomicInteger();
        List<Long> found = new ArrayList<>();
        ShardQuery<Long> twice =
                ShardQuery.of("SELECT p.id FROM ${shard.schema}.photo p, generate_series(1, 2)", row -> {
                    if (read.incrementAndGet() == 4) {
                        throw new SQLException("the connection was lost", "08006");
                    }
                    return row.getLong(1);
                });

        router.forEach(twice, found::add);

        List<Long> all = new ArrayList<>(ids);
        all.addAll(ids);
        assertThat(found).containsExactlyInAnyOrderElementsOf(all);
    }

    @Test
    void endsAtTheFirstRowThatIsRefused() throws SQLException {
        AtomicInteger rows = new AtomicInteger();
        IllegalStateException full = new IllegalStateException("full");

        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> router.forEach(TITLES, title -> {
                    if (rows.incrementAndGet() == 5) {
                        throw full;
                    }
                }))
                .isSameAs(full);
        assertThat(rows).hasValue(5);

        assertThatExceptionOfType(ScatterException.class)
                .isThrownBy(() -> router.forEach(
                        TITLES.deadline(Duration.ofMillis(300)), title -> LockSupport.parkNanos(100_000_000)))
                .withMessageContaining("had no result within the deadline of 300 ms");
        await().atMost(Duration.ofSeconds(30))
                .until(() -> router.pools().stream().allMatch(pool -> pool.active() == 0));
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

    /** Like a bounded thread pool with CallerRunsPolicy. */
    @Test
    void scattersOverAllShardsOnTheThreadThatReadsTheResults() {
        try (ShardRouter single = shards.router()
                        .map(shards.map())
                        .executor(new OfCaller())
                        .build();
                Stream<ShardResult<Long>> results = single.scatter(
                        Scatter.allShards().parallelism(1).deadline(Duration.ofSeconds(30)),
                        tx -> Photos.count(tx, tx.shard()))) {
            assertThat(results.map(ShardResult::get)).hasSize(SHARDS);
        }
    }

    private static final class OfCaller extends AbstractExecutorService {

        @Override
        public void execute(Runnable work) {
            work.run();
        }

        @Override
        public void shutdown() {}

        @Override
        public List<Runnable> shutdownNow() {
            return List.of();
        }

        @Override
        public boolean isShutdown() {
            return false;
        }

        @Override
        public boolean isTerminated() {
            return false;
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) {
            return true;
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
        Scatter impatient = Scatter.allShards().deadline(Duration.ofSeconds(3)).collectFailures();

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
                            "shard 4 on server db1 had no result within the deadline of 3000 ms; what ran there was cancelled");
        }
        await().atMost(Duration.ofSeconds(30)).until(() -> running(0) == 0);
    }

    @Test
    @Tag("full")
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
            statement.execute("SELECT pg_sleep(%s)".formatted(seconds));
        }
    }

    private static long running(int server) throws SQLException {
        return shards.number(
                server,
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()");
    }
}
