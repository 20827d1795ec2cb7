/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.catalog.CatalogUnavailableException;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.router.exception.CommitOutcomeUnknownException;
import org.shardflake.router.exception.PoolExhaustedException;
import org.shardflake.router.exception.ServerUnavailableException;
import org.shardflake.router.exception.ShardFencedException;
import org.shardflake.router.exception.ShardSqlException;
import org.shardflake.sql.FunctionLibrary;

/** Some shards on three servers, with the catalog on a fourth. */
class ShardRouterIT {

    private static final int SERVERS = 3;
    private static final int THREADS = 32;
    private static final Duration SOON = Duration.ofMinutes(2);

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(SERVERS + 1).prepareOnce("library", FunctionLibrary::deploy);

    private static int shardCount;
    private static PhotoShards shards;

    private TestDatabase catalogDatabase;
    private ShardCatalog catalog;
    private PhotoMover mover;

    @BeforeAll
    static void createShards(TestInfo test) throws SQLException {
        shardCount = test.getTags().contains("full") ? 2000 : 96;
        shards = PhotoShards.create(postgres, SERVERS, shardCount);
    }

    @BeforeEach
    void createCatalog() throws SQLException {
        catalogDatabase = postgres.database(SERVERS);
        catalog = shards.catalogIn(catalogDatabase);
        mover = new PhotoMover(shards, catalog);
    }

    /** Every shard where the next test expects it, and empty. */
    @AfterEach
    void cleanUp() throws SQLException {
        ShardMap map = catalog.load();
        for (int server = 0; server < SERVERS; server++) {
            Server here = PhotoShards.server(shards.database(server));
            StringBuilder sql = new StringBuilder("SET session_replication_role = replica;");
            for (String schema : schemas(server)) {
                int shard = Integer.parseInt(schema.substring("shard_".length()));
                boolean home = shards.map().server(shard).equals(here);
                if (home && !map.server(shard).equals(here)) {
                    sql.append("SELECT shardflake.unfence_shard(%s);".formatted(shard));
                }
                if (!home) {
                    sql.append("SELECT shardflake.drop_shard(%s, true);".formatted(shard));
                } else {
                    sql.append("DELETE FROM %s.photo;".formatted(schema));
                }
            }
            shards.execute(server, sql.toString());
        }
        try (Connection connection = catalogDatabase.connect();
                Statement statement = connection.createStatement()) {
            statement.execute("DROP SCHEMA shardflake_catalog CASCADE");
        }
    }

    private ShardRouterBuilder router() {
        return shards.router().catalog(catalogDatabase.uri()).pollInterval(Duration.ofSeconds(1));
    }

    @Test
    void putsUidsInTheirPlace() throws SQLException {
        putsInTheirPlace(10_000);
    }

    void putsInTheirPlace(int count) throws SQLException {
        long[] uids = new Random(7).longs(count).toArray();
        Map<Integer, List<Long>> uidsByShard = new HashMap<>();
        for (long uid : uids) {
            uidsByShard
                    .computeIfAbsent((int) Math.floorMod(uid, (long) shardCount), shard -> new ArrayList<>())
                    .add(uid);
        }
        List<Long> ids = new ArrayList<>();
        try (ShardRouter router = router().build()) {
            for (List<Long> some : uidsByShard.values()) {
                ids.addAll(router.write(some.get(0), tx -> {
                    List<Long> made = new ArrayList<>();
                    for (long uid : some) {
                        tx.require(ShardKey.uid(uid));
                        made.add(Photos.insert(tx, uid, "placed"));
                    }
                    return made;
                }));
            }
            for (long id : ids) {
                assertThat(router.locate(ShardKey.id(id)).server().name())
                        .isEqualTo("db" + (1 + IdLayout.shard(id) % SERVERS));
            }
        }

        long rows = 0;
        for (int server = 0; server < SERVERS; server++) {
            rows += countInPlace(server);
        }
        assertThat(rows).isEqualTo(count);
    }

    /** How many photos a server has; fails for any whose uid or id is of another shard than its schema. */
    private static long countInPlace(int server) throws SQLException {
        long rows = 0;
        try (Connection connection = shards.database(server).connect();
                Statement statement = connection.createStatement()) {
            for (String schema : schemas(server)) {
                int shard = Integer.parseInt(schema.substring("shard_".length()));
                assertThat(shard % SERVERS).isEqualTo(server);
                try (ResultSet row = statement.executeQuery("SELECT id, uid FROM " + schema + ".photo")) {
                    while (row.next()) {
                        assertThat(IdLayout.shard(row.getLong(1))).isEqualTo(shard);
                        assertThat(Math.floorMod(row.getLong(2), (long) shardCount))
                                .isEqualTo(shard);
                        rows++;
                    }
                }
            }
        }
        return rows;
    }

    @Test
    void readsManyIdsWithOneStatementPerServerAndTheNewestOfAllShards() throws SQLException {
        try (ShardRouter router = router().build()) {
            List<Long> ids = new ArrayList<>();
            Random random = new Random(11);
            for (int i = 0; i < 3000; i++) {
                long uid = random.nextLong();
                ids.add(router.write(uid, tx -> Photos.insert(tx, uid, "photo of " + uid)));
            }
            ShardQuery<Long> idOfPhoto =
                    ShardQuery.of("SELECT id, uid FROM ${shard.schema}.photo", row -> row.getLong("id"));

            List<Long> asked = new ArrayList<>(ids);
            Collections.shuffle(asked, random);
            asked.add(3, IdLayout.DEFAULT.encode(1_800_000_000_000L, 5, 1));
            Map<Long, Long> found = router.fetch(asked, idOfPhoto);

            asked.remove(3);
            assertThat(found.keySet()).containsExactlyElementsOf(asked);
            assertThat(found.values()).containsExactlyElementsOf(asked);

            List<Long> newestFirst = LongStream.range(0, 3000)
                    .mapToObj(i -> ids.get((int) i))
                    .sorted(Comparator.reverseOrder())
                    .toList();
            assertThat(router.newest(50, idOfPhoto)).isEqualTo(newestFirst.subList(0, 50));
            assertThat(router.newestBefore(newestFirst.get(49), 50, idOfPhoto)).isEqualTo(newestFirst.subList(50, 100));
            assertThat(router.newest(5000, idOfPhoto)).isEqualTo(newestFirst);
        }
    }

    @Test
    @Tag("full")
    void movesShardsUnderLoadWithoutAFailureOrAWriteInTheWrongPlace() throws Exception {
        movesUnderLoad(10);
    }

    void movesUnderLoad(int moves) throws Exception {
        Collection<PhotoLoad.Photo> photos;
        try (ShardRouter router = router().poolSize(16).build()) {
            PhotoLoad load = PhotoLoad.start(router, THREADS);
            try (load) {
                load.awaitMore(500);
                Random random = new Random(3);
                for (int i = 0; i < moves; i++) {
                    int shard = random.nextInt(shardCount);
                    int from =
                            Integer.parseInt(catalog.load().server(shard).name().substring(2)) - 1;
                    mover.move(shard, (from + 1 + random.nextInt(SERVERS - 1)) % SERVERS);
                }
                load.awaitMore(500);
            }
            assertThat(load.failures()).isEmpty();
            photos = load.photos();
        }

        assertThat(catalog.version()).isEqualTo(1 + moves);
        assertEveryPhotoIsThereOnceAndOnlyThere(photos, catalog.load());
        System.out.printf("%,d photos written during %s moves: 0 failures, 0 misplaced%n", photos.size(), moves);
    }

    private static void assertEveryPhotoIsThereOnceAndOnlyThere(Collection<PhotoLoad.Photo> photos, ShardMap map)
            throws SQLException {
        Map<Long, Long> uidById = new HashMap<>();
        for (int server = 0; server < SERVERS; server++) {
            Server here = PhotoShards.server(shards.database(server));
            try (Connection connection = shards.database(server).connect();
                    Statement statement = connection.createStatement()) {
                for (String schema : schemas(server)) {
                    int shard = Integer.parseInt(schema.substring("shard_".length()));
                    try (ResultSet row = statement.executeQuery("SELECT id, uid FROM " + schema + ".photo")) {
                        while (row.next()) {
                            assertThat(map.server(shard)).isEqualTo(here);
                            assertThat(uidById.put(row.getLong(1), row.getLong(2)))
                                    .isNull();
                        }
                    }
                }
            }
        }
        assertThat(uidById).hasSameSizeAs(photos);
        assertThat(photos).allMatch(photo -> Long.valueOf(photo.uid()).equals(uidById.get(photo.id())));
    }

    @Test
    @Tag("full")
    void goesOnWhileTheCatalogIsDownAndHearsOfChangesOnceItIsBack() throws Exception {
        assumeThat(catalogDatabase.server().canRestart()).isTrue();
        try (ShardRouter router = router().build()) {
            PhotoLoad load = PhotoLoad.start(router, THREADS);
            try (load) {
                load.awaitMore(500);
                catalogDatabase.server().crash();
                await().atMost(SOON).until(() -> router.mapHealth().problem().isPresent());
                Duration age = router.mapHealth().age();
                load.awaitMore(500);
                assertThat(router.mapHealth().age()).isGreaterThan(age);
                assertThat(router.health().isHealthy()).isFalse();

                catalogDatabase.server().start();
                mover.move(7, 0);
                await().atMost(SOON).until(() -> router.map().version() == 2);
                await().atMost(SOON).until(() -> router.health().isHealthy());
                load.awaitMore(500);
            }
            assertThat(load.failures()).isEmpty();
            assertEveryPhotoIsThereOnceAndOnlyThere(load.photos(), catalog.load());
        }
    }

    @Test
    @Tag("full")
    void failsOnlyForTheShardsOfAServerThatIsDown() throws Exception {
        assumeThat(shards.database(2).server().canRestart()).isTrue();
        try (ShardRouter router =
                router().connectionTimeout(Duration.ofSeconds(2)).build()) {
            PhotoLoad load = PhotoLoad.start(router, THREADS);
            try (load) {
                load.awaitMore(500);
                shards.database(2).server().crash();
                load.awaitMore(300);
                shards.database(2).server().start();
                int failures = load.failures().size();
                await().atMost(SOON)
                        .ignoreExceptions()
                        .until(() ->
                                router.<Long, SQLException>read(ShardKey.shard(2), tx -> Photos.count(tx, 2)) >= 0);
                load.awaitMore(1000);
                assertThat(failures).isPositive();
            }
            assertThat(load.failures()).allMatch(failure -> failure.shard() % SERVERS == 2);
            assertThat(load.failures())
                    .extracting(PhotoLoad.Failure::cause)
                    .allMatch(cause -> cause instanceof SQLException
                            || cause instanceof ServerUnavailableException
                            || cause instanceof PoolExhaustedException
                            || cause instanceof ShardSqlException
                            || cause instanceof CommitOutcomeUnknownException);
        }
    }

    @Test
    void findsOutByPollingWhatItWasNotNotifiedOf() throws SQLException {
        keepNotificationsFromBeingSent();
        try (ShardRouter router = router().pollInterval(Duration.ofMillis(200)).build()) {
            mover.move(7, 0);
            await().atMost(SOON).until(() -> router.map().version() == 2);
            assertThat(router.map().server(7).name()).isEqualTo("db1");
        }
    }

    @Test
    void isNotifiedLongBeforeItPolls() throws SQLException {
        try (ShardRouter router = router().pollInterval(Duration.ofHours(1)).build()) {
            await().atMost(SOON).until(() -> listeners() == 1);
            mover.move(7, 0);
            await().atMost(SOON).until(() -> router.map().version() == 2);
        }
    }

    /** Anybody who may connect to the catalog's database may notify. */
    @Test
    void bearsNotificationsThatMeanNothing() throws SQLException {
        try (ShardRouter router = router().pollInterval(Duration.ofHours(1)).build()) {
            await().atMost(SOON).until(() -> listeners() == 1);
            onCatalog(
                    "NOTIFY shardflake_map, 'garbage'; NOTIFY shardflake_map; NOTIFY shardflake_map, '-1';"
                            + " NOTIFY shardflake_map, '99999999999999999999';"
                            + " SELECT count(pg_notify('shardflake_map', repeat(n::text, 1500))) FROM generate_series(1, 1000) n");
            mover.move(7, 0);
            await().atMost(SOON).until(() -> router.map().version() == 2);
            assertThat(router.mapHealth().problem()).isEmpty();
            assertThat(listeners()).isEqualTo(1);
        }
    }

    @Test
    @Tag("full")
    void isNotifiedAgainAfterItsListeningConnectionWasCut() throws SQLException {
        try (ShardRouter router = router().pollInterval(Duration.ofHours(1)).build()) {
            await().atMost(SOON).until(() -> listeners() == 1);
            onCatalog(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'shardflake router, listening'");
            mover.move(7, 0);
            await().atMost(SOON).until(() -> router.map().version() == 2);
        }
    }

    @Test
    void aStaleRouterIsRefusedByTheServerAndRecovers() throws SQLException {
        keepNotificationsFromBeingSent();
        try (ShardRouter stale = router().pollInterval(Duration.ofHours(1)).build()) {
            await().atMost(SOON).until(() -> listeners() == 1);
            mover.move(7, 0);
            assertThat(stale.map().version()).isEqualTo(1);

            List<String> tried = new ArrayList<>();
            long id = stale.write(7, tx -> {
                tried.add(tx.placement().server().name());
                return Photos.insert(tx, 7, "moved");
            });

            assertThat(tried).containsExactly("db2", "db1");
            assertThat(stale.map().version()).isEqualTo(2);
            assertThat(shards.number(0, "SELECT count(*) FROM shard_0007.photo WHERE id = " + id))
                    .isEqualTo(1);
            assertThat(shards.number(1, "SELECT count(*) FROM shard_0007.photo"))
                    .isZero();
        }
    }

    @Test
    void aStaleRouterLearnsFromAConnectionThatIsRefused() throws SQLException {
        keepNotificationsFromBeingSent();
        try (ShardRouter stale = router().pollInterval(Duration.ofHours(1)).build()) {
            await().atMost(SOON).until(() -> listeners() == 1);
            mover.move(7, 0);

            SQLException refused = catchThrowableOfType(SQLTransientException.class, () -> insertByHand(stale));
            assertThat(refused.getSQLState()).isEqualTo("SF001");
            await().atMost(SOON).until(() -> stale.map().version() == 2);
            insertByHand(stale);

            assertThat(shards.number(0, "SELECT count(*) FROM shard_0007.photo"))
                    .isEqualTo(1);
        }
    }

    private static void insertByHand(ShardRouter router) throws SQLException {
        try (Connection connection = router.connection(ShardKey.uid(7));
                Statement statement = connection.createStatement()) {
            statement.execute("INSERT INTO shard_0007.photo (uid) VALUES (7)");
        }
    }

    @Test
    void aRouterWithAFrozenMapIsRefusedToTheEnd() throws SQLException {
        mover.move(7, 0);
        try (ShardRouter frozen = shards.router()
                .map(shards.map())
                .retryPolicy(RetryPolicy.DEFAULT.withDeadline(Duration.ofMillis(300)))
                .build()) {
            ShardFencedException refused = catchThrowableOfType(
                    ShardFencedException.class, () -> frozen.write(7, tx -> Photos.insert(tx, 7, "never")));

            assertThat(refused.server()).isEqualTo("db2");
            assertThat(shards.number(0, "SELECT count(*) FROM shard_0007.photo"))
                    .isZero();
        }
    }

    @Test
    void waitsForAFenceThatComesDownAgainWithoutAMove() throws Exception {
        try (ShardRouter router = router().build()) {
            mover.fence(1, 7);
            ExecutorService thread = Executors.newSingleThreadExecutor();
            Future<Long> writing = thread.submit(() -> router.write(7, tx -> Photos.insert(tx, 7, "patient")));
            Thread.sleep(100);
            assertThat(writing).isNotDone();
            shards.execute(1, "SELECT shardflake.unfence_shard(7)");

            assertThat(IdLayout.shard(writing.get())).isEqualTo(7);
            thread.shutdown();
        }
    }

    @Test
    @Tag("full")
    void startsFromACopyOfTheMapWhileTheCatalogIsDown(@TempDir Path directory) throws SQLException {
        assumeThat(catalogDatabase.server().canRestart()).isTrue();
        Path copy = directory.resolve("map.yaml");
        mover.move(7, 0);
        try (ShardRouter first = router().cacheFile(copy).build()) {
            assertThat(first.map().version()).isEqualTo(2);
        }
        catalogDatabase.server().crash();
        try {
            assertThat(catchThrowableOfType(CatalogUnavailableException.class, () -> router().build()))
                    .hasMessageContaining("cannot connect to catalog");
            try (ShardRouter second = router().cacheFile(copy).build()) {
                long id = second.write(7, tx -> Photos.insert(tx, 7, "without a catalog"));
                assertThat(shards.number(0, "SELECT count(*) FROM shard_0007.photo WHERE id = " + id))
                        .isEqualTo(1);
                assertThat(second.mapHealth().problem()).isPresent();

                catalogDatabase.server().start();
                mover.move(8, 0);
                await().atMost(SOON).until(() -> second.map().version() == 3);
                // Said when the map is in use and its copy is written.
                await().atMost(SOON).until(() -> second.mapHealth().problem().isEmpty());
            }
        } finally {
            catalogDatabase.server().start();
        }
    }

    @Test
    void letsWorkEndBeforeItClosesTheConnectionsToAServerThatHasLeft() throws Exception {
        Server leaving = PhotoShards.server(shards.database(2));
        try (ShardRouter router = router().build()) {
            CountDownLatch working = new CountDownLatch(1);
            CountDownLatch left = new CountDownLatch(1);
            ExecutorService thread = Executors.newSingleThreadExecutor();
            Future<Long> work = thread.submit(() -> router.write(2, tx -> {
                long id = Photos.insert(tx, 2, "the last");
                working.countDown();
                left.await();
                return id;
            }));
            working.await();

            ShardSet itsShards = shards.map().shards(leaving);
            catalog.place(itsShards, "db1", "a test");
            catalog.removeServer(leaving.name(), "a test");
            await().atMost(SOON).until(() -> router.map().servers().size() == 2);
            assertThat(connections(2)).isPositive();
            left.countDown();

            assertThat(IdLayout.shard(work.get())).isEqualTo(2);
            await().atMost(SOON).until(() -> connections(2) == 0);
            thread.shutdown();
        }
    }

    @Test
    @Tag("full")
    void goesOnAskingAfterAMapThatCannotBeRead() throws SQLException {
        try (ShardRouter router = router().pollInterval(Duration.ofMillis(200)).build()) {
            // The catalog's checks are not as strict as a URL's reader.
            onCatalog("INSERT INTO shardflake_catalog.server (name, url) VALUES ('odd', 'postgresql://a@b/c?x%zz=1')");
            await().atMost(SOON).until(() -> router.mapHealth().problem().isPresent());
            onCatalog("DELETE FROM shardflake_catalog.server WHERE name = 'odd'");

            await().atMost(SOON).until(() -> router.map().version() == 3);
            await().atMost(SOON).until(() -> router.mapHealth().problem().isEmpty());
        }
    }

    @Test
    void connectsToAServerBeforeTheFirstShardIsThere() throws SQLException {
        try (ShardRouter router = router().pollInterval(Duration.ofMillis(200)).build()) {
            await().atMost(SOON).until(() -> connections(1) > 0 && connections(2) > 0);
        }
    }

    private static long connections(int server) throws SQLException {
        return shards.number(
                server,
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'shardflake'");
    }

    private long listeners() throws SQLException {
        try (Connection connection = catalogDatabase.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'shardflake router, listening' AND query LIKE 'LISTEN%' AND state = 'idle'")) {
            row.next();
            return row.getLong(1);
        }
    }

    private void keepNotificationsFromBeingSent() throws SQLException {
        onCatalog("""
                CREATE OR REPLACE FUNCTION shardflake_catalog.record_change() RETURNS bigint LANGUAGE sql
                BEGIN ATOMIC
                    UPDATE shardflake_catalog.installation SET version = version + 1 RETURNING version;
                END
                """);
    }

    private void onCatalog(String sql) throws SQLException {
        try (Connection connection = catalogDatabase.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static List<String> schemas(int server) throws SQLException {
        List<String> schemas = new ArrayList<>();
        try (Connection connection = shards.database(server).connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT nspname FROM pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$' ORDER BY 1")) {
            while (row.next()) {
                schemas.add(row.getString(1));
            }
        }
        return schemas;
    }
}
