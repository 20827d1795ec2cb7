/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jooq.Field;
import org.jooq.Table;
import org.jooq.impl.DSL;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Poll;
import org.shardflake.jooq.JooqRouter;
import org.shardflake.router.DarkRead;
import org.shardflake.router.RouterListener;
import org.shardflake.router.Scatter;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;
import org.shardflake.router.ShardWork;
import org.shardflake.router.exception.CommitOutcomeUnknownException;

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
        AdoptSlicesTest.begin(postgres, installation, directory);
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

    private static void run() {
        try (DatabaseAdopter adopter = AdoptSlicesTest.adopter(postgres, AdoptListener.NONE)) {
            adopter.run();
        }
    }

    private static ShardSet reverse(ShardSet shards) {
        try (DatabaseAdopter adopter = AdoptSlicesTest.adopter(postgres, AdoptListener.NONE)) {
            return adopter.reverse(shards).over();
        }
    }

    /** Places where changes were acknowledged, by the schema of the work. */
    private record Counts(AtomicInteger inOld, AtomicInteger inShards, AtomicInteger unknown) {

        Counts() {
            this(new AtomicInteger(), new AtomicInteger(), new AtomicInteger());
        }
    }

    /**
     * Changes orders and reads them back: in the router's transactions, with jOOQ, in a framework's transactions, and without any. Each time it takes
     * one of two routers, and either may have an older view of the shards. Its code does not mention the old database. Nothing may fail.
     */
    private static final class Writer {

        private final List<ShardRouter> routers;
        private final Counts counts;
        private final Random random;
        private final int first;
        /** The number of acknowledged changes of each order, by its id. */
        private final Map<Integer, Integer> orders = new TreeMap<>();

        private Writer(List<ShardRouter> routers, Counts counts, long seed, int number) {
            this.routers = routers;
            this.counts = counts;
            this.random = new Random(seed + number);
            this.first = FIRST * (number + 1);
        }

        private ShardRouter router() {
            return routers.get(random.nextInt(routers.size()));
        }

        private void run(AtomicBoolean stop) throws SQLException {
            while (!stop.get()) {
                AdoptSlicesTest.rest();
                int user = random.nextInt(1, 41);
                int id = first + user;
                try {
                    String schema = orders.containsKey(id) ? update(user, id) : insert(user, id);
                    (schema.equals("shop") ? counts.inOld : counts.inShards).incrementAndGet();
                    orders.merge(id, 1, Integer::sum);
                } catch (CommitOutcomeUnknownException e) {
                    resolve(user, id);
                } catch (SQLException e) {
                    if (!(e.getCause() instanceof CommitOutcomeUnknownException)) {
                        throw e;
                    }
                    resolve(user, id);
                }
                assertThat(read(user, id))
                        .as("order %s of shard %s", id, user % 8)
                        .isEqualTo(orders.getOrDefault(id, 0));
            }
        }

        /** Reads back whether a commit that was cut off was done, as its message says. */
        private void resolve(int user, int id) throws SQLException {
            counts.unknown.incrementAndGet();
            int before = orders.getOrDefault(id, 0);
            int now = read(user, id);
            assertThat(now).isBetween(before, before + 1);
            if (now > 0) {
                orders.put(id, now);
            }
        }

        private String insert(int user, int id) throws SQLException {
            return router().write(
                            user,
                            tx -> change(
                                    tx,
                                    "INSERT INTO ${shard.schema}.orders VALUES (%s, %s, 'code %1$s', '1')"
                                            .formatted(id, user)));
        }

        private String update(int user, int id) throws SQLException {
            String update = "UPDATE %sorders SET note = note::integer + 1 WHERE id = " + id;
            return switch (random.nextInt(4)) {
                case 0 -> router().write(user, tx -> change(tx, update.formatted("${shard.schema}.")));
                case 1 ->
                    new JooqRouter(router(), "shard").<String, SQLException>write(user, dsl -> {
                        assertThat(dsl.update(ORDERS)
                                        .set(
                                                NOTE,
                                                NOTE.cast(Integer.class).plus(1).cast(String.class))
                                        .where(ID.eq(id))
                                        .execute())
                                .isEqualTo(1);
                        return dsl.fetchValue("SELECT current_schema()", String.class) instanceof String schema
                                ? schema
                                : "";
                    });
                case 2 -> attempt(user, update.formatted(""), true);
                default -> attempt(user, update.formatted(""), false);
            };
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

        private String attempt(int user, String sql, boolean readsFirst) throws SQLException {
            return router().attempt(ShardKey.uid(user), true, attempt -> {
                try (Connection connection = attempt.connection()) {
                    connection.setAutoCommit(false);
                    try (PreparedStatement statement = connection.prepareStatement(sql)) {
                        if (readsFirst) {
                            number(connection, "SELECT count(*) FROM users");
                        }
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

        /** The changes that an order has; 0 if it is not there. */
        private int read(int user, int id) throws SQLException {
            String sql = "SELECT note FROM %sorders WHERE id = " + id;
            return switch (random.nextInt(3)) {
                case 0 ->
                    router().<Integer, SQLException>read(
                                    user, tx -> number(tx.connection(), tx.sql(sql.formatted("${shard.schema}."))));
                case 1 ->
                    new JooqRouter(router(), "shard")
                            .<Integer, SQLException>read(
                                    user,
                                    dsl -> dsl.select(NOTE.cast(Integer.class))
                                            .from(ORDERS)
                                            .where(ID.eq(id))
                                            .fetchOptionalInto(Integer.class)
                                            .orElse(0));
                default -> alone(user, sql.formatted(""));
            };
        }

        /** Outside of transactions the router doesn't know that a statement only reads, so the application repeats one that was cut off. */
        private int alone(int user, String sql) throws SQLException {
            while (true) {
                try {
                    return router().<Integer, SQLException>attempt(ShardKey.uid(user), true, attempt -> {
                        try (Connection connection = attempt.connection()) {
                            return number(connection, sql);
                        }
                    });
                } catch (SQLException e) {
                    if (!String.valueOf(e.getSQLState()).matches("57P0.|08.*")) {
                        throw e;
                    }
                    counts.unknown.incrementAndGet();
                }
            }
        }

        private static int number(Connection connection, String sql) throws SQLException {
            try (Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery(sql)) {
                return row.next() ? row.getInt(1) : 0;
            }
        }
    }

    private static final Table<?> ORDERS = DSL.table(DSL.name("shard", "orders"));
    private static final Field<Integer> ID = DSL.field(DSL.name("id"), Integer.class);
    private static final Field<String> NOTE = DSL.field(DSL.name("note"), String.class);

    @Test
    void nobodyNoticesThatShardsLeaveAndComeBack() throws Exception {
        leaveAndComeBack(new Random().nextLong(), 2, false);
    }

    @Test
    @Tag("full")
    void nobodyNoticesThatShardsLeaveAndComeBackForLong() throws Exception {
        leaveAndComeBack(Nights.seed(2), 12, true);
    }

    /** An acknowledged change is in the place that has the shard, and the next read finds it there. */
    private void leaveAndComeBack(long seed, int turns, boolean isTroubled) throws Exception {
        cutOver(ShardSet.of());
        Random random = new Random(seed);
        Counts counts = new Counts();
        int troubles = 0;
        try (ShardRouter router = router();
                ShardRouter other = router()) {
            List<Writer> writers = IntStream.range(0, 4)
                    .mapToObj(number -> new Writer(List.of(router, other), counts, seed, number))
                    .toList();
            try (Running running = new Running(writers)) {
                for (int turn = 0; turn < turns; turn++) {
                    // Shard 7 stays, or the adoption would end.
                    ShardSet some = ShardSet.of(random.ints(5, 0, 7).toArray());
                    if (isTroubled && random.nextInt(3) == 0) {
                        trouble(random);
                        troubles++;
                    }
                    if (turn == 0 || isTroubled) {
                        rehearse(running, counts);
                    }
                    if (turn % 2 == 0) {
                        cutOver(some);
                    } else {
                        reverse(some);
                    }
                    running.awaitMore(counts, 40);
                }
                cutOver(ShardSet.of(1, 2, 3, 5));
                running.awaitMore(counts, 40);
                assertThat(reverse(ShardSet.of(1, 5)).stream()).contains(2, 3).doesNotContain(1, 5);
                running.awaitMore(counts, 40);
            }
            check(writers, seed);
            try (Running running = new Running(writers)) {
                cutOver(ShardSet.range(0, 7));
                running.awaitMore(counts, 40);
            }
            check(writers, seed);
            assertThat(places()).hasSize(8).doesNotContainValue(OLD);
        }
        assertThat(counts.inOld).hasPositiveValue();
        assertThat(counts.inShards).hasPositiveValue();
        if (!isTroubled) {
            assertThat(counts.unknown).hasValue(0);
        }
        System.out.printf(
                "seed %s: %s changes in the old database, %s in shards; %s troubles cut off %s statements%n",
                seed, counts.inOld, counts.inShards, troubles, counts.unknown);
        try (ShardRouter restarted = router()) {
            assertThat(restarted.<String, RuntimeException>write(11, ShardTransaction::schema))
                    .isEqualTo("shop"); // enter() runs with the first statement, and there was none.
            assertThat(schemaOf(restarted, 11)).isEqualTo("shard_0003");
        }
    }

    /** All shards that are in the old database are rehearsed, and stay there. */
    private void rehearse(Running running, Counts counts) throws Exception {
        Map<Integer, Integer> before = places();
        ShardSet there = ShardSet.of(before.entrySet().stream()
                .filter(place -> place.getValue() == OLD)
                .map(Map.Entry::getKey)
                .toList());
        try (DatabaseAdopter adopter = AdoptSlicesTest.adopter(postgres, AdoptListener.NONE)) {
            assertThat(adopter.rehearse(there).now()).hasSize(there.size());
        }
        assertThat(places()).isEqualTo(before);
        running.awaitMore(counts, 40);
    }

    /** The application's sessions in one database end, or its server does. */
    private void trouble(Random random) throws SQLException {
        int database = random.nextInt(3);
        if (random.nextInt(3) == 0) {
            postgres.database(database).server().crash();
            postgres.database(database).server().start();
        } else {
            installation.execute(
                    database,
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()");
        }
    }

    /** Writers at work, until it is closed. */
    private static final class Running implements AutoCloseable {

        private final AtomicBoolean stop = new AtomicBoolean();
        private final ExecutorService threads = Executors.newCachedThreadPool();
        private final List<Future<?>> all = new ArrayList<>();

        private Running(List<Writer> writers) {
            for (Writer writer : writers) {
                all.add(threads.submit(() -> {
                    writer.run(stop);
                    return null;
                }));
            }
        }

        private void awaitMore(Counts counts, int more) throws Exception {
            int wanted = counts.inOld.get() + counts.inShards.get() + more;
            boolean isDone = Poll.everyMillis(5, Duration.ofMinutes(1))
                    .until(() -> counts.inOld.get() + counts.inShards.get() >= wanted
                            || all.stream().anyMatch(Future::isDone));
            for (Future<?> one : all) {
                if (one.isDone()) {
                    one.get();
                }
            }
            assertThat(isDone).isTrue();
        }

        @Override
        public void close() throws Exception {
            stop.set(true);
            threads.shutdown();
            for (Future<?> one : all) {
                one.get();
            }
        }
    }

    /** The database that has each shard, as the old one says. */
    private Map<Integer, Integer> places() throws SQLException {
        Map<Integer, Integer> places = new TreeMap<>();
        String over = installation.query(
                OLD, "SELECT string_agg(shard || ':' || (over_since IS NOT NULL), ',') FROM shardflake_adopt.slice");
        for (String one : over.split(",", -1)) {
            int shard = Integer.parseInt(one.split(":", -1)[0]);
            places.put(shard, one.endsWith("true") ? shard / 4 : OLD);
        }
        return places;
    }

    /** Compares what was acknowledged with the rows in the database that has each shard. */
    private void check(List<Writer> writers, long seed) throws SQLException {
        Map<Integer, Integer> places = places();
        for (int shard = 0; shard < 8; shard++) {
            Map<Integer, String> wanted = new TreeMap<>();
            for (Writer writer : writers) {
                for (Map.Entry<Integer, Integer> order : writer.orders.entrySet()) {
                    if ((order.getKey() - writer.first) % 8 == shard) {
                        wanted.put(order.getKey(), String.valueOf(order.getValue()));
                    }
                }
            }
            int place = places.getOrDefault(shard, OLD);
            assertThat(orders(place, place == OLD ? "shop" : Sharding.schema(shard), shard))
                    .as("seed %s, shard %s in database %s", seed, shard, place)
                    .isEqualTo(wanted);
        }
    }

    private static Map<Integer, String> orders(int database, String schema, int shard) throws SQLException {
        Map<Integer, String> orders = new TreeMap<>();
        try (Connection connection = postgres.database(database).connect();
                Statement statement = connection.createStatement();
                ResultSet row =
                        statement.executeQuery("SELECT id, note FROM %s.orders WHERE id >= %s AND user_id %% 8 = %s"
                                .formatted(schema, FIRST, shard))) {
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
                ShardRouter reader = router();
                ShardRouter alone = router()) {
            assertThat(schemaOf(router, 11)).isEqualTo("shard_0003");
            assertThat(schemaOf(router, 12)).isEqualTo("shop");
            assertThat(schemaRead(reader, 11)).isEqualTo("shard_0003");
            assertThat(schemaAlone(alone)).isEqualTo("shard_0003");

            installation.execute(0, "SELECT shardflake.fence_shard(3)");
            // It is on its way, and its rows are still those of the shard.
            assertThat(schemaAlone(alone)).isEqualTo("shard_0003");
            installation.execute(0, "SELECT shardflake.unfence_shard(3)");

            reverse(ShardSet.of(3));
            assertThat(schemaOf(router, 11)).isEqualTo("shop");
            assertThat(schemaRead(reader, 11)).isEqualTo("shop");
            assertThat(schemaAlone(alone)).isEqualTo("shop");
        }
    }

    /** The schema of work that only reads, outside of transactions, and is not run again. */
    private static String schemaAlone(ShardRouter router) throws SQLException {
        return router.attempt(ShardKey.uid(11), false, attempt -> {
            try (Connection connection = attempt.connection();
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("SELECT current_schema() FROM users WHERE id = 11")) {
                assertThat(row.next()).isTrue();
                return row.getString(1);
            }
        });
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

    /** The triggers are created while it is under way, and do not wait for it, since it has written nothing. */
    @Test
    void workThatBeganBeforeTheFirstCutoverKeepsItsShard() throws Exception {
        ExecutorService command = Executors.newSingleThreadExecutor();
        try (ShardRouter router = router()) {
            run();
            Future<?> leaving = router.write(11, tx -> {
                try (Statement statement = tx.connection().createStatement()) {
                    statement.execute(tx.sql("SELECT FROM ${shard.schema}.users"));
                    Future<?> cutover = command.submit(() -> cutOver(ShardSet.of(3)));
                    assertThat(Poll.everyMillis(5, Duration.ofMinutes(1)).until(this::isSomeShardWaitedFor))
                            .isTrue();
                    statement.execute(tx.sql("UPDATE ${shard.schema}.users SET name = 'in time' WHERE id = 11"));
                    assertThat(tx.schema()).isEqualTo("shop");
                    return cutover;
                }
            });
            leaving.get(1, TimeUnit.MINUTES);
            assertThat(installation.query(0, "SELECT name FROM shard_0003.users WHERE id = 11"))
                    .isEqualTo("in time");
            assertThat(schemaOf(router, 11)).isEqualTo("shard_0003");
        } finally {
            command.shutdownNow();
        }
    }

    private boolean isSomeShardWaitedFor() throws SQLException {
        return !installation
                .query(OLD, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
                .equals("0");
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
    void isolationLevelsSavepointsAndAutoCommitStayAsTheyAre() throws Exception {
        cutOver(ShardSet.of(3));
        try (ShardRouter router = router()) {
            String level = router.write(12, tx -> {
                try (Statement statement = tx.connection().createStatement();
                        PreparedStatement prepared =
                                tx.connection().prepareStatement("set transaction isolation level repeatable read")) {
                    prepared.execute();
                    statement.execute("/* ours */ SET LOCAL transaction_isolation = 'serializable'");
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
                for (boolean autoCommit : new boolean[] {true, false}) {
                    long copied = router.<Long, Exception>attempt(ShardKey.uid(user), false, attempt -> {
                        try (Connection connection = attempt.connection()) {
                            connection.setAutoCommit(autoCommit);
                            CopyManager copies =
                                    connection.unwrap(PGConnection.class).getCopyAPI();
                            return copies.copyOut("COPY users TO STDOUT", new StringWriter());
                        }
                    });
                    assertThat(copied).isEqualTo(user == 11 ? 5 : 40);
                }
            }
        }
    }

    /** Writers wait for a cutover, however impatient their role is. */
    @Test
    void theLimitOfARoleForLocksIsNotTheOneOfACutover() throws Exception {
        run();
        ExecutorService writer = Executors.newSingleThreadExecutor();
        AtomicInteger retries = new AtomicInteger();
        try (Connection cutover = postgres.database(OLD).connect();
                Statement lock = cutover.createStatement();
                ShardRouter router = ShardRouter.builder()
                        .catalog(postgres.database(0).uri())
                        .oldDatabase(postgres.database(OLD).uri(), "shop")
                        .driverProperty("options", "-c lock_timeout=20")
                        .listener(new RouterListener() {
                            @Override
                            public void retried(Server server, RetryReason reason) {
                                retries.incrementAndGet();
                            }
                        })
                        .build()) {
            lock.execute("SELECT pg_advisory_lock(1936419171, 3)");
            Future<String> written = writer.submit(() -> schemaOf(router, 11));
            assertThat(Poll.everyMillis(5, Duration.ofMinutes(1)).until(() -> retries.get() > 1 || written.isDone()))
                    .isTrue();
            lock.execute("SELECT pg_advisory_unlock_all()");
            assertThat(written.get(1, TimeUnit.MINUTES)).isEqualTo("shop");
        } finally {
            writer.shutdownNow();
        }
        assertThat(retries).hasPositiveValue();
    }

    /** The application gets the old database's rows, whatever the shard has, and its pools lend the same connections. */
    @Test
    void readsAreComparedInTheDark() throws Exception {
        cutOver(ShardSet.of(5));
        BlockingQueue<DarkRead> told = new LinkedBlockingQueue<>();
        try (ShardRouter router = darkRouter(Duration.ofMillis(100), told)) {
            assertThat(names(router, 11)).hasSize(1);
            DarkRead same = told.poll(1, TimeUnit.MINUTES);
            assertThat(same).isNotNull();
            assertThat(same.outcome()).as("%s", same).isEqualTo(DarkRead.Outcome.SAME);
            assertThat(same.sql()).endsWith("WHERE id = ? AND note <> 'shop.users' ORDER BY id");
            assertThat(same.shard()).isEqualTo(3);
            assertThat(same.server().name()).isEqualTo("db1");

            installation.execute(0, "UPDATE shard_0003.users SET name = 'other' WHERE id = 11");
            assertThat(names(router, 11)).doesNotContain("other");
            DarkRead different = told.poll(1, TimeUnit.MINUTES);
            assertThat(different.outcome()).isEqualTo(DarkRead.Outcome.DIFFERENT);
            assertThat(different.difference()).isEqualTo("of 1 rows the shard has 1 others, and lacks 1");

            installation.execute(0, "ALTER TABLE shard_0003.users RENAME TO renamed");
            assertThat(names(router, 11)).hasSize(1);
            assertThat(told.poll(1, TimeUnit.MINUTES).outcome()).isEqualTo(DarkRead.Outcome.FAILED);
            installation.execute(0, "ALTER TABLE shard_0003.renamed RENAME TO users");

            limitsOfTimeAreTheApplicationsOwn(router, told);

            // Neither a write nor a shard that has left.
            router.run(11, tx -> names(tx, 11));
            assertThat(names(router, 5)).hasSize(1);
            assertThat(names(router, 12)).hasSize(1);
            assertThat(told.poll(1, TimeUnit.MINUTES).shard()).isEqualTo(4);
            assertThat(told).isEmpty();
        }
        installation.execute(0, "UPDATE shard_0003.users SET name = 'user 11' WHERE id = 11");
        assertThat(Stream.of(1, 4, 16, 64).map(Duration::ofSeconds).anyMatch(this::isFoundLate))
                .isTrue();
        assertThatThrownBy(() -> ShardRouter.builder()
                        .catalog(postgres.database(0).uri())
                        .darkReads(1, Duration.ofSeconds(1))
                        .build())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("dark reads need an old database");
    }

    /** The shard's server takes longer than the application has for the old database. */
    private static void limitsOfTimeAreTheApplicationsOwn(ShardRouter router, BlockingQueue<DarkRead> told)
            throws SQLException, InterruptedException {
        String limit = "SET LOCAL statement_timeout = 100";
        String slow = "SELECT pg_sleep(CASE WHEN current_schema() LIKE 'shard%' THEN 0.3 ELSE 0 END)";
        List<DarkRead.Outcome> outcomes = new ArrayList<>();
        for (List<String> statements : List.of(List.of(limit, slow), List.of(limit + "; " + slow))) {
            router.read(11, tx -> {
                try (Statement statement = tx.connection().createStatement()) {
                    for (String sql : statements) {
                        statement.execute(sql);
                    }
                }
                return true;
            });
            for (String sql : statements) {
                DarkRead read = told.poll(1, TimeUnit.MINUTES);
                assertThat(read).as(sql).isNotNull();
                outcomes.add(read.outcome());
            }
        }
        assertThat(outcomes).containsExactly(DarkRead.Outcome.SAME, DarkRead.Outcome.SAME, DarkRead.Outcome.SKIPPED);
    }

    /** Whether a copy that is behind is found to be the same in the end: a slow machine may take longer than this. */
    private boolean isFoundLate(Duration lag) {
        BlockingQueue<DarkRead> told = new LinkedBlockingQueue<>();
        try (ShardRouter router = darkRouter(lag, told)) {
            installation.execute(OLD, "UPDATE shop.users SET name = 'changed %s' WHERE id = 12".formatted(lag));
            assertThat(names(router, 12)).hasSize(1);
            run();
            DarkRead read = told.poll(3, TimeUnit.MINUTES);
            return read != null && read.outcome() == DarkRead.Outcome.LATE;
        } catch (SQLException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static ShardRouter darkRouter(Duration lag, BlockingQueue<DarkRead> told) {
        return ShardRouter.builder()
                .catalog(postgres.database(0).uri())
                .oldDatabase(postgres.database(OLD).uri(), "shop")
                .darkReads(1, lag)
                .listener(new RouterListener() {
                    @Override
                    public void darkReadEnded(DarkRead read) {
                        told.add(read);
                    }
                })
                .build();
    }

    private static List<String> names(ShardRouter router, int user) throws SQLException {
        return router.read(user, tx -> names(tx, user));
    }

    private static List<String> names(ShardTransaction tx, int user) throws SQLException {
        String sql =
                "SELECT * FROM (SELECT u.*, name AS note FROM ${shard.schema}.users u) u WHERE id = ? AND note <> 'shop.users' ORDER BY id";
        try (PreparedStatement statement = tx.connection().prepareStatement(tx.sql(sql))) {
            statement.setInt(1, user);
            try (ResultSet row = statement.executeQuery()) {
                List<String> names = new ArrayList<>();
                while (row.next()) {
                    names.add(row.getString("name"));
                }
                return names;
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
                    .hasMessageContaining("'shardflake adopt run --plan FILE --from URL' creates the function");
            assertThat(router.health().servers()).hasSize(3);
        }
        assertThatThrownBy(() -> ShardRouter.builder().oldDatabase("postgresql://db/app", "Shop"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\"Shop\"");
    }
}
