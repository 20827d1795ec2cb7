/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.ShardKey;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Poll;
import org.shardflake.router.Scatter;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;
import org.shardflake.router.ShardWork;

/** A router sends work to the old database until the shard has left. Shards 0 to 3 are on db1, 4 to 7 on db2; user 11 belongs to shard 3. */
class OldDatabaseTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;
    private static final int FIRST = 1_000_000;

    private final CliInstallation installation = new CliInstallation(postgres);

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() throws SQLException, IOException {
        if (!postgres.restore("slices")) {
            AdoptSlicesTest.install(installation, directory);
            postgres.save("slices");
        }
    }

    private static void cutOver(ShardSet shards) {
        try (DatabaseAdopter adopter = AdoptSlicesTest.adopter(postgres, AdoptListener.NONE)) {
            adopter.cutOver(shards);
        }
    }

    private static ShardRouter router() {
        return ShardRouter.builder()
                .catalog(postgres.database(0).uri())
                .oldDatabase(postgres.database(OLD).uri(), "shop")
                .build();
    }

    /** An order of a writer, and its acknowledged changes. */
    private static final class Order {

        private final int user;
        private boolean isOfOld;
        private int inOld;
        private int inShard;

        private Order(int user) {
            this.user = user;
        }

        private boolean note(String schema) {
            boolean isOld = schema.equals("shop");
            inOld += isOld ? 1 : 0;
            inShard += isOld ? 0 : 1;
            return isOld;
        }
    }

    /** Changes orders and reads them back, by the router's transactions and by those of a framework. It knows of no old database. */
    private static final class Writer {

        private final ShardRouter router;
        private final Random random;
        private final int first;
        private final Map<Integer, Order> orders = new TreeMap<>();

        private Writer(ShardRouter router, long seed, int number) {
            this.router = router;
            this.random = new Random(seed + number);
            this.first = FIRST * (number + 1);
        }

        private void run(AtomicBoolean stop, Set<Integer> written) throws SQLException {
            while (!stop.get()) {
                int user = random.nextInt(1, 41);
                Order order = orders.get(first + user);
                if (order == null) {
                    order = new Order(user);
                    String schema = router.write(
                            user,
                            tx -> change(
                                    tx,
                                    "INSERT INTO ${shard.schema}.orders VALUES (%s, %s, 'code %1$s', '0')"
                                            .formatted(first + user, user)));
                    order.isOfOld = schema.equals("shop");
                    orders.put(first + user, order);
                }
                String update = "UPDATE %sorders SET note = note::integer + 1 WHERE id = " + (first + user);
                boolean isOld = order.note(
                        random.nextBoolean()
                                ? router.write(user, tx -> change(tx, update.formatted("${shard.schema}.")))
                                : framework(user, update.formatted("")));
                if (!isOld) {
                    written.add(user % 8);
                }
                int noted = router.<Integer, SQLException>read(
                        user, tx -> number(tx, "SELECT note FROM ${shard.schema}.orders WHERE id = " + (first + user)));
                assertThat(noted).isEqualTo(order.inOld + order.inShard);
            }
        }

        private String change(ShardTransaction tx, String sql) throws SQLException {
            if (random.nextBoolean()) {
                tx.connection().setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            }
            try (PreparedStatement statement = tx.connection().prepareStatement(tx.sql(sql))) {
                assertThat(statement.executeUpdate()).isEqualTo(1);
            }
            return tx.schema();
        }

        private static int number(ShardTransaction tx, String sql) throws SQLException {
            try (Statement statement = tx.connection().createStatement();
                    ResultSet row = statement.executeQuery(tx.sql(sql))) {
                row.next();
                return row.getInt(1);
            }
        }

        private String framework(int user, String sql) throws SQLException {
            return router.attempt(ShardKey.uid(user), true, attempt -> {
                try (Connection connection = attempt.connection()) {
                    connection.setAutoCommit(false);
                    try (PreparedStatement statement = connection.prepareStatement(sql)) {
                        assertThat(statement.executeUpdate()).isEqualTo(1);
                        String schema = connection.getSchema();
                        connection.commit();
                        return schema;
                    } catch (SQLException e) {
                        connection.rollback();
                        throw e;
                    }
                }
            });
        }
    }

    @Test
    void nobodyNoticesThatShardsLeave() throws Exception {
        leave(new Random().nextLong(), 4);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2})
    @Tag("full")
    void nobodyNoticesThatShardsLeaveForLong(long seed) throws Exception {
        leave(seed, 1);
    }

    /** Shards leave in random order under writers; an acknowledged change is in one place, and the next read finds it. */
    private void leave(long seed, int concurrently) throws Exception {
        cutOver(ShardSet.of());
        List<Integer> shards = new ArrayList<>(IntStream.range(0, 8).boxed().toList());
        Collections.shuffle(shards, new Random(seed));
        AtomicBoolean stop = new AtomicBoolean();
        Set<Integer> written = ConcurrentHashMap.newKeySet();
        ExecutorService threads = Executors.newFixedThreadPool(4);
        List<Writer> writers = new ArrayList<>();
        try (ShardRouter router = router()) {
            List<Future<?>> running = new ArrayList<>();
            for (int number = 0; number < 4; number++) {
                Writer writer = new Writer(router, seed, number);
                writers.add(writer);
                running.add(threads.submit(() -> {
                    writer.run(stop, written);
                    return null;
                }));
            }
            for (int i = 0; i < 8; i += concurrently) {
                cutOver(ShardSet.of(shards.subList(i, i + concurrently).stream()
                        .mapToInt(shard -> shard)
                        .toArray()));
            }
            boolean areAllWritten = Poll.everyMillis(5, Duration.ofMinutes(1))
                    .until(() -> written.size() == 8 || running.stream().anyMatch(Future::isDone));
            stop.set(true);
            for (Future<?> one : running) {
                one.get();
            }
            assertThat(areAllWritten).isTrue();
        } finally {
            stop.set(true);
            threads.shutdown();
        }

        Map<Integer, String> wanted = new TreeMap<>();
        Map<Integer, String> wantedInOld = new TreeMap<>();
        int inOld = 0;
        for (Writer writer : writers) {
            for (Map.Entry<Integer, Order> one : writer.orders.entrySet()) {
                Order order = one.getValue();
                wanted.put(one.getKey(), "%s: %s".formatted(order.user % 8, order.inOld + order.inShard));
                if (order.isOfOld) {
                    wantedInOld.put(one.getKey(), "%s: %s".formatted(order.user % 8, order.inOld));
                }
                inOld += order.inOld;
            }
        }
        assertThat(inOld).isPositive();
        Map<Integer, String> found = new TreeMap<>();
        for (int shard = 0; shard < 8; shard++) {
            found.putAll(orders(shard / 4, Sharding.schema(shard), String.valueOf(shard)));
        }
        assertThat(found).as("seed %s", seed).isEqualTo(wanted);
        assertThat(orders(OLD, "shop", "user_id % 8")).as("seed %s", seed).isEqualTo(wantedInOld);
        try (ShardRouter restarted = router()) {
            assertThat(restarted.<String, RuntimeException>write(11, ShardTransaction::schema))
                    .isEqualTo("shop"); // enter() runs with the first statement, and there was none.
            assertThat(schemaOf(restarted, 11)).isEqualTo("shard_0003");
        }
    }

    private static Map<Integer, String> orders(int server, String schema, String shard) throws SQLException {
        Map<Integer, String> orders = new TreeMap<>();
        try (Connection connection = postgres.database(server).connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT id, concat(%s, ': ', note) FROM %s.orders WHERE id >= %s"
                        .formatted(shard, schema, FIRST))) {
            while (row.next()) {
                orders.put(row.getInt(1), row.getString(2));
            }
        }
        return orders;
    }

    private static String schemaOf(ShardRouter router, int user) throws SQLException {
        return router.write(user, tx -> {
            try (Statement statement = tx.connection().createStatement()) {
                statement.execute(tx.sql("UPDATE ${shard.schema}.users SET name = 'seen' WHERE id = " + user));
                assertThat(statement.getUpdateCount()).isEqualTo(1);
            }
            return tx.schema();
        });
    }

    @Test
    void aShardThatComesBackIsFoundInTheOldDatabase() throws SQLException {
        cutOver(ShardSet.of(3));
        try (ShardRouter router = router();
                ShardRouter reader = router()) {
            assertThat(schemaOf(router, 11)).isEqualTo("shard_0003");
            assertThat(schemaOf(router, 12)).isEqualTo("shop");
            assertThat(schemaRead(reader, 11)).isEqualTo("shard_0003");

            installation.execute(0, "SELECT shardflake.fence_shard(3)");
            installation.execute(OLD, "UPDATE shardflake_adopt.slice SET over_since = NULL WHERE shard = 3");

            assertThat(schemaOf(router, 11)).isEqualTo("shop");
            assertThat(schemaRead(reader, 11)).isEqualTo("shop");
        }
    }

    private static String schemaRead(ShardRouter router, int user) throws SQLException {
        return router.read(user, tx -> {
            try (Statement statement = tx.connection().createStatement();
                    ResultSet row =
                            statement.executeQuery(tx.sql("SELECT FROM ${shard.schema}.users WHERE id = " + user))) {
                assertThat(row.next()).isTrue();
            }
            return tx.schema();
        });
    }

    @Test
    void workThatMeetsARowOfAnotherShardFails() {
        cutOver(ShardSet.of(3));
        AtomicInteger runs = new AtomicInteger();
        try (ShardRouter router = router()) {
            ShardWork<Boolean, SQLException> everybody = tx -> {
                runs.incrementAndGet();
                try (Statement statement = tx.connection().createStatement()) {
                    return statement.execute(tx.sql("UPDATE ${shard.schema}.users SET name = 'all'"));
                }
            };
            assertThatThrownBy(() -> router.write(12, everybody))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("work on shard 4 met a row of another shard")
                    .hasMessageContaining("shard 3 has left this database");
        }
        assertThat(runs).hasValue(1);
    }

    @Test
    void isolationLevelsSavepointsAndAutoCommitStayAsTheyAre() throws SQLException {
        cutOver(ShardSet.of(3));
        try (ShardRouter router = router()) {
            String level = router.write(12, tx -> {
                try (Statement statement = tx.connection().createStatement()) {
                    statement.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE");
                    tx.connection().rollback(tx.connection().setSavepoint());
                    try (ResultSet row = statement.executeQuery(
                            "SELECT current_setting('transaction_isolation') || (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())")) {
                        row.next();
                        return row.getString(1);
                    }
                }
            });
            assertThat(level).isEqualTo("serializable1");
            for (int user : new int[] {11, 12}) {
                // Not run again, so the connection that is lent has to lead to the shard.
                String name = router.attempt(ShardKey.uid(user), false, attempt -> {
                    try (Connection connection = attempt.connection();
                            Statement statement = connection.createStatement()) {
                        statement.execute("UPDATE users SET name = 'alone' WHERE id = " + user);
                        return connection.getSchema();
                    }
                });
                assertThat(name).isEqualTo(user == 11 ? "shard_0003" : "shop");
            }
        }
    }

    @Test
    void whatNeedsAllShardsIsRefused() {
        try (ShardRouter router = router()) {
            ShardQuery<Integer> query = ShardQuery.of("SELECT 1 FROM ${shard.schema}.users", row -> row.getInt(1));
            List<Runnable> refused = List.of(
                    () -> router.count(query),
                    () -> router.fetch(List.of(1L), query),
                    () -> router.scatter(Scatter.allShards(), tx -> 1),
                    () -> router.lookup("users.name"),
                    () -> router.reference().read(connection -> 1),
                    router::anyShard,
                    () -> router.connection(ShardKey.uid(12)));
            assertThat(refused)
                    .allSatisfy(one -> assertThatThrownBy(one::run)
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("is refused, since shards may still be in the old database"));
            assertThatThrownBy(() -> schemaOf(router, 12))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("adopt cutover");
            assertThat(router.health().servers()).hasSize(3);
        }
        assertThatThrownBy(() -> ShardRouter.builder().oldDatabase("postgresql://db/app", "Shop"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\"Shop\"");
    }
}
