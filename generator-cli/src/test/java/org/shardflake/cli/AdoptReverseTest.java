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
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
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
import org.shardflake.ShardKey;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.AdoptRefusedException;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Poll;
import org.shardflake.router.RetryPolicy;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.exception.ShardFencedException;
import org.shardflake.server.ServerUrl;
import org.shardflake.watch.InstallationSnapshot;
import org.shardflake.watch.PlacementState;
import org.shardflake.watch.Watch;

/** Shards come back to the old database. The tables and shards are those of {@link AdoptSlicesTest}. */
class AdoptReverseTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;

    private static final ShardSet ALL = ShardSet.range(0, 7);

    private final CliInstallation installation = new CliInstallation(postgres);

    /** Set once the test has stopped killing the engine's sessions. */
    private volatile boolean isCalm;

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() throws SQLException, IOException {
        AdoptSlicesTest.begin(postgres, installation, directory);
    }

    private void cutOver(ShardSet shards) {
        try (DatabaseAdopter adopter = AdoptSlicesTest.adopter(postgres, AdoptListener.NONE)) {
            adopter.cutOver(shards);
        }
    }

    private ShardSet reverse(ShardSet shards) {
        try (DatabaseAdopter adopter = AdoptSlicesTest.adopter(postgres, AdoptListener.NONE)) {
            return adopter.reverse(shards).over();
        }
    }

    @Test
    void everyWriteIsInThePlaceThatOwnsItsShard() throws Exception {
        random(new Random().nextLong(), 3);
    }

    @Test
    @Tag("full")
    void everyWriteIsInThePlaceThatOwnsItsShardForLong() throws Exception {
        random(Nights.seed(2), 20);
    }

    /**
     * Shards leave, come back and leave again, in commands that are killed, while owners of users write where they are told to, and others write to the
     * old tables only. Owners know what their rows must be.
     */
    private void random(long seed, int turns) throws Exception {
        Random random = new Random(seed);
        List<Owner> owners =
                List.of(new Owner(new Random(random.nextLong()), 5000, 3_000_000), new Owner(random, 6000, 4_000_000));
        for (Owner owner : owners) {
            for (int user : owner.users.keySet()) {
                installation.execute(OLD, "INSERT INTO shop.users VALUES (%s, 'new')".formatted(user));
            }
        }
        cutOver(ShardSet.of());
        AtomicBoolean stop = new AtomicBoolean();
        AtomicInteger written = new AtomicInteger();
        AtomicInteger refused = new AtomicInteger();
        Random turn = new Random(seed + 1);
        ExecutorService threads = Executors.newFixedThreadPool(3);
        List<Future<?>> writers = new ArrayList<>();
        writers.add(threads.submit(
                () -> AdoptSlicesTest.write(postgres.database(OLD), new Random(seed + 2), stop, written, refused)));
        owners.forEach(owner -> writers.add(threads.submit(() -> owner.write(stop))));
        int failed = 0;
        int returned = 0;
        for (int i = 0; i < turns; i++) {
            ShardSet some =
                    ShardSet.of(turn.ints(4, 0, 7).toArray()); // shard 7 never leaves, or the adoption would end
            boolean comesBack = i % 2 == 1;
            try (DatabaseAdopter adopter =
                    AdoptSlicesTest.adopter(postgres, AdoptSlicesTest.killer(installation, turn))) {
                if (comesBack) {
                    assertThat(adopter.rehearseReverse(some).refusals()).isEmpty();
                    returned += adopter.reverse(some).now().size();
                } else {
                    adopter.cutOver(some);
                }
            } catch (AdoptRefusedException e) {
                throw e;
            } catch (ShardflakeException e) {
                assertThat(e.kind()).as("%s", e).isNotEqualTo(ShardflakeException.Kind.VERIFICATION);
                failed++;
            }
            awaitMore(owners, writers, 20);
        }
        isCalm = true;
        cutOver(ShardSet.range(1, 4));
        awaitMore(owners, writers, 100);
        assertThat(reverse(ShardSet.range(2, 5)).toString()).doesNotContain("2", "3", "4", "5");
        awaitMore(owners, writers, 100);
        stop.set(true);
        for (Future<?> writer : writers) {
            writer.get();
        }
        threads.shutdown();

        assertThat(reverse(ALL).isEmpty()).isTrue();
        Set<String> expected = new TreeSet<>();
        owners.forEach(owner -> expected.addAll(owner.rows()));
        assertThat(lines(OLD_ROWS)).as("seed %s", seed).isEqualTo(expected);
        try (DatabaseAdopter adopter = AdoptSlicesTest.adopter(postgres, AdoptListener.NONE)) {
            adopter.run();
        }
        assertThat(DatabaseAdopterTest.found(installation))
                .as("seed %s", seed)
                .isEqualTo(DatabaseAdopterTest.wanted(installation));
        DatabaseAdopterTest.deleteOrphans(installation);
        cutOver(ALL);
        assertThat(DatabaseAdopterTest.found(installation))
                .as("seed %s", seed)
                .isEqualTo(DatabaseAdopterTest.wanted(installation));
        assertThat(fenced()).isEqualTo("0");
        System.out.printf(
                "seed %s: %s returns, %s of %s runs failed; owners wrote %s before and %s after, refused by shards %s%n",
                seed,
                returned,
                failed,
                turns,
                owners.stream().mapToInt(owner -> owner.inOld.get()).sum(),
                owners.stream().mapToInt(owner -> owner.inShards.get()).sum(),
                owners.stream().mapToInt(owner -> owner.refused.get()).sum());
    }

    private static void awaitMore(List<Owner> owners, List<Future<?>> writers, int more) throws Exception {
        int before = written(owners);
        boolean isDone = Poll.everyMillis(10, Duration.ofMinutes(1))
                .until(() ->
                        written(owners) >= before + more || writers.stream().anyMatch(Future::isDone));
        for (Future<?> writer : writers) {
            if (writer.isDone()) {
                writer.get();
            }
        }
        assertThat(isDone).isTrue();
    }

    private static int written(List<Owner> owners) {
        return owners.stream()
                .mapToInt(owner -> owner.inOld.get() + owner.inShards.get())
                .sum();
    }

    private String fenced() throws SQLException {
        return installation.query(0, "SELECT count(*) FROM generate_series(0, 3) n WHERE shardflake.is_fenced(n)");
    }

    private static final String OLD_ROWS = """
            SELECT 'u|' || id || '|' || name FROM shop.users WHERE id >= 5000 UNION ALL
            SELECT 'o|' || id || '|' || user_id || '|' || code || '|' || coalesce(note, '') FROM shop.orders WHERE id >= 3000000 UNION ALL
            SELECT 'i|' || order_id || '|' || line || '|' || text FROM shop.item WHERE order_id >= 3000000 UNION ALL
            SELECT 'p|' || id || '|' || code FROM shop.parcel WHERE id >= 3000000 UNION ALL
            SELECT 's|' || parcel_id || '|' || at FROM shop.scan WHERE parcel_id >= 3000000
            """;

    private Set<String> lines(String sql) throws SQLException {
        return new TreeSet<>(List.of(installation
                .query(OLD, "SELECT string_agg(line, E'\\n') FROM (%s) q (line)".formatted(sql))
                .split("\n", -1)));
    }

    /** An order as its owner knows it. */
    private static final class Order {
        final int id;
        int user;
        String code;
        String note = "";
        int lines;
        final TreeMap<Integer, String> items = new TreeMap<>();
        final TreeMap<Integer, Set<Integer>> parcels = new TreeMap<>();

        Order(int id, int user) {
            this.id = id;
            this.user = user;
            this.code = "own " + id;
        }
    }

    /** Statements of one transaction, with {@code %s} for the schema, and what they change. */
    private record Change(List<String> sql, Runnable effect) {}

    /** A writer whose users no other writes to. */
    private final class Owner {

        private static final int USERS = 16;

        private final Random random;
        private final TreeMap<Integer, String> users = new TreeMap<>();
        private final TreeMap<Integer, Order> orders = new TreeMap<>();
        private final AtomicInteger inOld = new AtomicInteger();
        private final AtomicInteger inShards = new AtomicInteger();
        private final AtomicInteger refused = new AtomicInteger();
        private int next;

        Owner(Random random, int firstUser, int next) {
            this.random = random;
            this.next = next;
            for (int i = 0; i < USERS; i++) {
                users.put(firstUser + i, "new");
            }
        }

        Set<String> rows() {
            Set<String> rows = new TreeSet<>();
            users.forEach((id, name) -> rows.add("u|%s|%s".formatted(id, name)));
            for (Order order : orders.values()) {
                rows.add("o|%s|%s|%s|%s".formatted(order.id, order.user, order.code, order.note));
                order.items.forEach((line, text) -> rows.add("i|%s|%s|%s".formatted(order.id, line, text)));
                order.parcels.forEach((parcel, scans) -> {
                    rows.add("p|%s|%s".formatted(parcel, order.code));
                    scans.forEach(at -> rows.add("s|%s|%s".formatted(parcel, at)));
                });
            }
            return rows;
        }

        /** Asks the old database where to work, as the guide says, and again if the shard comes back just then. */
        void write(AtomicBoolean stop) {
            RetryPolicy soon = RetryPolicy.DEFAULT.withMaxTries(3);
            try (Connection old = postgres.database(OLD).connect();
                    ShardRouter router = ShardRouter.builder()
                            .catalog(postgres.database(0).uri())
                            .retryPolicy(soon)
                            .build()) {
                old.setAutoCommit(false);
                while (!stop.get()) {
                    AdoptSlicesTest.rest();
                    if (random.nextInt(2500) == 0 && !isCalm) {
                        AdoptSlicesTest.kill(installation, random.nextBoolean()); // at any step of a command
                    }
                    int user = users.firstKey() + random.nextInt(USERS);
                    String outcome =
                            AdoptSlicesTest.outcome(old, "SELECT shardflake_adopt.enter(%s)".formatted(user % 8));
                    if (outcome.equals("SF001")) {
                        old.rollback();
                        byRouter(router, user);
                    } else {
                        assertThat(outcome).isEqualTo("ok");
                        inOld(old, user);
                    }
                }
            } catch (SQLException e) {
                throw new AssertionError(e);
            }
        }

        private void byRouter(ShardRouter router, int user) throws SQLException {
            Change change = change(user, true);
            try {
                router.run(ShardKey.uid(user), tx -> {
                    try (Statement statement = tx.connection().createStatement()) {
                        for (String sql : change.sql()) {
                            statement.execute(sql.replace("%s", tx.schema()));
                        }
                    }
                });
                change.effect().run();
                inShards.incrementAndGet();
            } catch (ShardFencedException e) {
                refused.incrementAndGet();
            }
        }

        private void inOld(Connection old, int user) throws SQLException {
            Change change = change(user, false);
            for (String sql : change.sql()) {
                String outcome = AdoptSlicesTest.outcome(old, sql.replace("%s", "shop"));
                if (!outcome.equals("ok")) {
                    assertThat(outcome).as(sql).isIn("40P01", "40001");
                    old.rollback();
                    return;
                }
            }
            old.commit();
            change.effect().run();
            inOld.incrementAndGet();
        }

        private Change change(int user, boolean inShard) {
            List<Order> its =
                    orders.values().stream().filter(order -> order.user == user).toList();
            int kind = random.nextInt(12);
            if (kind == 0) {
                String name = "name " + next++;
                return new Change(
                        List.of("UPDATE %s.users SET name = '" + name + "' WHERE id = " + user),
                        () -> users.put(user, name));
            }
            if (its.isEmpty() || kind == 1) {
                Order order = new Order(next++, user);
                return new Change(List.of(insert(order)), () -> orders.put(order.id, order));
            }
            Order order = its.get(random.nextInt(its.size()));
            String where = " WHERE order_id = " + order.id;
            switch (kind) {
                case 2 -> {
                    String note = "note " + next++;
                    return new Change(
                            List.of("UPDATE %s.orders SET note = '" + note + "' WHERE id = " + order.id),
                            () -> order.note = note);
                }
                case 3, 4 -> {
                    int line = order.lines++;
                    String more = inShard ? ", " + user : "";
                    return new Change(
                            List.of("INSERT INTO %s.item VALUES (" + order.id + ", " + line + ", 'new'" + more + ")"),
                            () -> order.items.put(line, "new"));
                }
                case 5 -> {
                    String text = "text " + next++;
                    return new Change(
                            List.of("UPDATE %s.item SET text = '" + text + "'" + where),
                            () -> order.items.replaceAll((line, was) -> text));
                }
                case 6 -> {
                    if (order.items.isEmpty()) {
                        return new Change(List.of(), () -> {});
                    }
                    int from = order.items.firstKey();
                    int to = order.lines++;
                    return new Change(
                            List.of("UPDATE %s.item SET line = " + to + where + " AND line = " + from),
                            () -> order.items.put(to, String.valueOf(order.items.remove(from))));
                }
                case 7 -> {
                    return new Change(List.of("DELETE FROM %s.item" + where), order.items::clear);
                }
                case 8 -> {
                    return parcel(order, inShard);
                }
                case 9 -> {
                    return remove(order);
                }
                case 10 -> {
                    return give(order, user, inShard);
                }
                default -> {
                    return exchange(order, its);
                }
            }
        }

        private String insert(Order order) {
            return "INSERT INTO %s.orders (id, user_id, code) VALUES (" + order.id + ", " + order.user + ", '"
                    + order.code + "')";
        }

        /** Only orders with even ids have parcels, which keep their codes. */
        private Change parcel(Order order, boolean inShard) {
            if (order.id % 2 == 1) {
                return new Change(List.of(), () -> {});
            }
            int id = next++;
            int at = next++;
            return new Change(
                    List.of(
                            "INSERT INTO %s.parcel (id, code" + (inShard ? ", user_id" : "") + ") VALUES (" + id + ", '"
                                    + order.code + "'" + (inShard ? ", " + order.user : "") + ")",
                            "INSERT INTO %s.scan (parcel_id, at" + (inShard ? ", user_id" : "") + ") VALUES (" + id
                                    + ", " + at + (inShard ? ", " + order.user : "") + ")"),
                    () -> order.parcels.put(id, Set.of(at)));
        }

        private Change remove(Order order) {
            String parcels = "(SELECT id FROM %s.parcel WHERE code = '" + order.code + "')";
            return new Change(
                    List.of(
                            "DELETE FROM %s.scan WHERE parcel_id IN " + parcels,
                            "DELETE FROM %s.parcel WHERE code = '" + order.code + "'",
                            "DELETE FROM %s.item WHERE order_id = " + order.id,
                            "DELETE FROM %s.orders WHERE id = " + order.id),
                    () -> orders.remove(order.id));
        }

        /** To another user of the shard. */
        private Change give(Order order, int user, boolean inShard) {
            int other = users.containsKey(user + 8) ? user + 8 : user - 8;
            List<String> sql = new ArrayList<>();
            sql.add("UPDATE %s.orders SET user_id = " + other + " WHERE id = " + order.id);
            if (inShard) {
                sql.add("UPDATE %s.item SET user_id = " + other + " WHERE order_id = " + order.id);
                sql.add("UPDATE %s.parcel SET user_id = " + other + " WHERE code = '" + order.code + "'");
                sql.add("UPDATE %s.scan SET user_id = " + other
                        + " WHERE parcel_id IN (SELECT id FROM %s.parcel WHERE code = '" + order.code + "')");
            }
            return new Change(sql, () -> order.user = other);
        }

        /** Two orders exchange their codes, which are unique in the old table. */
        private Change exchange(Order order, List<Order> its) {
            List<Order> others = its.stream()
                    .filter(other -> other != order && other.id % 2 == 1 && order.id % 2 == 1)
                    .toList();
            if (others.isEmpty()) {
                return new Change(List.of(), () -> {});
            }
            Order other = others.get(random.nextInt(others.size()));
            String code = order.code;
            String another = other.code;
            String set = "UPDATE %s.orders SET code = '";
            return new Change(
                    List.of(
                            set + "on its way " + order.id + "' WHERE id = " + order.id,
                            set + code + "' WHERE id = " + other.id,
                            set + another + "' WHERE id = " + order.id),
                    () -> {
                        order.code = another;
                        other.code = code;
                    });
        }
    }

    @Test
    void rowsThatTheOldTablesRefuseStopTheReturn() throws SQLException {
        assertThatThrownBy(() -> reverse(ALL))
                .isInstanceOf(AdoptRefusedException.class)
                .hasMessageContaining("is not being adopted");
        cutOver(ShardSet.range(2, 3));
        Map<String, String> before = old();
        refuses(
                "INSERT INTO shard_0003.orders VALUES (99999999999, 11, 'new')",
                "DELETE FROM shard_0003.orders WHERE id = 99999999999",
                "value \"99999999999\" is out of range for type integer",
                "column id");
        refuses(
                "INSERT INTO shard_0003.orders VALUES (900, 11, 'code 1')",
                "DELETE FROM shard_0003.orders WHERE id = 900",
                "Key (code)=(code 1) already exists");
        refuses(
                "INSERT INTO shard_0003.orders VALUES (3, 11, 'new')",
                "DELETE FROM shard_0003.orders WHERE id = 3",
                "Key (id)=(3) already exists");
        refuses(
                "INSERT INTO shard_0003.item VALUES (77777, 1, 'lost', 11)",
                "DELETE FROM shard_0003.item WHERE order_id = 77777",
                "shop.item would have other rows than shard_0003, such as (77777, 1)");
        refuses(
                "INSERT INTO shard_0003.item VALUES (10, 9, 'other', 3)",
                "DELETE FROM shard_0003.item WHERE line = 9",
                "shop.item would have other rows than shard_0003, such as (10, 9)");
        refuses(
                "UPDATE shard_0003.orders SET user_id = 3 WHERE id = 10",
                "UPDATE shard_0003.orders SET user_id = 11 WHERE id = 10",
                "shop.parcel would have other rows than shard_0003, such as (109), (9)");
        refuses(
                "INSERT INTO shard_0003.orders VALUES (900, 4003, 'new')",
                "DELETE FROM shard_0003.orders WHERE id = 900",
                "rows would break foreign key orders_user_id_fkey of orders to users, such as (4003)");
        installation.execute(
                OLD,
                "CREATE TABLE shop.audit (order_id integer REFERENCES shop.orders); INSERT INTO shop.audit VALUES (10)");
        refuses(
                "DELETE FROM shard_0003.scan WHERE user_id = 11; DELETE FROM shard_0003.parcel WHERE user_id = 11; DELETE FROM shard_0003.remark WHERE user_id = 11; DELETE FROM shard_0003.item WHERE user_id = 11; DELETE FROM shard_0003.orders WHERE user_id = 11",
                "SELECT 1",
                "rows would break foreign key audit_order_id_fkey of audit to orders, such as (10)");
        installation.execute(0, "CREATE TABLE shard_0003.more (id integer); INSERT INTO shard_0003.more VALUES (1)");
        installation.execute(0, "SELECT shardflake.add_fence('shard_0003.more')");
        assertThatThrownBy(() -> reverse(ALL))
                .hasMessageContaining("shard_0003.more, which the plan has not, has rows");
        installation.execute(0, "DROP TABLE shard_0003.more");
        for (int shard = 0; shard < 8; shard++) {
            installation.execute(shard / 4, "ALTER TABLE shard_000%s.item ADD COLUMN more integer".formatted(shard));
        }
        assertThatThrownBy(() -> reverse(ALL)).hasMessageContaining("shop.item has no column more");
        assertThat(old()).isEqualTo(before);
    }

    /** While it works, others have not ended what they write to the shard, and lock the row that says where it is. */
    @Test
    void aRehearsalNamesWhatTheOldTablesCannotHold() throws IOException, SQLException {
        cutOver(ShardSet.range(1, 3));
        installation.execute(OLD, "ALTER TABLE shop.users ADD CONSTRAINT polite CHECK (name <> 'rude')");
        installation.execute(0, "UPDATE shard_0001.users SET name = 'rude' WHERE id = 9");
        installation.execute(0, "INSERT INTO shard_0002.orders VALUES (900, 4002, 'new')");
        installation.execute(0, "INSERT INTO shard_0003.orders VALUES (901, 11, 'code 1')");
        String before = everything();
        try (Connection server = postgres.database(0).connect();
                Connection old = postgres.database(OLD).connect()) {
            server.setAutoCommit(false);
            old.setAutoCommit(false);
            String late = "UPDATE shard_0003.users SET name = 'late' WHERE id = 11";
            assertThat(AdoptSlicesTest.outcome(server, late)).isEqualTo("ok");
            assertThat(AdoptSlicesTest.outcome(old, "SELECT FROM shardflake_adopt.slice WHERE shard = 3 FOR SHARE"))
                    .isEqualTo("ok");

            Cli.Result refused = rehearse();

            assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
            assertThat(refused.out())
                    .startsWith("0 shards could come back with 0 changed rows\n")
                    .contains(
                            "violates check constraint \"polite\"",
                            "shard 2 cannot come back: rows would break foreign key orders_user_id_fkey",
                            "Key (code)=(code 1) already exists")
                    .endsWith("\n3 shards have left the old database\n");
            assertThat(everything()).isEqualTo(before);
            installation.execute(0, "DELETE FROM shard_0003.orders WHERE id = 901");
            installation.execute(0, "UPDATE shard_0001.users SET name = 'polite' WHERE id = 9");
            before = everything();
            Cli.Result some = rehearse("-o=json");
            assertThat(some.exitCode()).as(some.toString()).isEqualTo(ExitCodes.PRECONDITION);
            assertThat(some.out())
                    .contains("\"rehearsed\":\"1,3\",\"over\":\"1-3\"", "\"rows\":1,\"refusals\":[{", "such as (4002)");
            assertThat(everything()).isEqualTo(before);
            server.commit();
            assertThat(AdoptSlicesTest.outcome(server, late)).isEqualTo("ok");
            server.commit();
        }
        installation.execute(0, "DELETE FROM shard_0002.orders WHERE id = 900");
        Cli.Result all = rehearse();
        assertThat(all.exitCode()).as(all.toString()).isZero();
        assertThat(all.out())
                .matches(
                        "3 shards could come back with 2 changed rows; write pause: .*\n3 shards have left the old database\n");
    }

    /** The old tables are closed, and moves may begin: both stay so. */
    @Test
    void aRehearsalAfterTheLastShardHasLeftLeavesTheAdoptionEnded() throws IOException, SQLException {
        cutOver(ALL);
        installation.execute(0, "INSERT INTO shard_0003.orders VALUES (901, 11, 'code 1')");
        installation.execute(1, "UPDATE shard_0004.users SET name = 'late' WHERE id = 4");
        String before = everything();

        Cli.Result refused = rehearse();

        assertThat(refused.out())
                .startsWith("7 shards could come back with 1 changed row; ")
                .contains("Key (code)=(code 1) already exists");
        assertThat(everything()).isEqualTo(before);
        assertThat(installation.query(0, "SELECT count(*) FROM shardflake_catalog.adoption"))
                .isEqualTo("0");
    }

    private Cli.Result rehearse(String... more) throws IOException {
        List<String> all = new ArrayList<>(List.of("--percent=100", "--reverse"));
        all.addAll(List.of(more));
        String[] options = options();
        return command("rehearse", new String[] {options[0], options[1]}, all.toArray(String[]::new)); // without --yes
    }

    /** All rows and triggers of the old database, and the first server's fences. */
    private String everything() throws SQLException {
        return installation.query(
                        OLD,
                        "SELECT schema_to_xml('shop', true, false, '')::text || schema_to_xml('shardflake_adopt', true, false, '')::text || (SELECT string_agg(concat(tgname, tgrelid, tgenabled), ' ' ORDER BY tgname, tgrelid) FROM pg_trigger)")
                + fenced();
    }

    /** Rows are read while the shard is in use, so before this transaction ends. It leaves the number of rows as it was. */
    @Test
    void whatATransactionWritesThatEndsAfterRowsWereReadComesBack() throws Exception {
        cutOver(ShardSet.of(3));
        try (Connection server = postgres.database(0).connect()) {
            server.setAutoCommit(false);
            for (String sql : List.of(
                    "UPDATE shard_0003.users SET name = 'late' WHERE id = 11",
                    "DELETE FROM shard_0003.scan WHERE parcel_id = 9 AND at = (SELECT min(at) FROM shard_0003.scan WHERE parcel_id = 9)",
                    "INSERT INTO shard_0003.scan (parcel_id, at, user_id) VALUES (9, 999, 11)")) {
                assertThat(AdoptSlicesTest.outcome(server, sql)).isEqualTo("ok");
            }
            CompletableFuture<ShardSet> over = CompletableFuture.supplyAsync(() -> reverse(ShardSet.of(3)));
            boolean isWaiting = Poll.everyMillis(5, Duration.ofMinutes(1))
                    .until(() -> over.isDone()
                            || installation
                                    .query(0, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
                                    .equals("t"));
            assertThat(isWaiting).isTrue();
            server.commit();
            assertThat(over.join().isEmpty()).isTrue();
        }
        assertThat(installation.query(OLD, "SELECT name FROM shop.users WHERE id = 11"))
                .isEqualTo("late");
        String scans =
                "SELECT string_agg(parcel_id || ' ' || at, ',' ORDER BY parcel_id, at) FROM %s.scan WHERE parcel_id = 9";
        assertThat(installation.query(OLD, scans.formatted("shop")))
                .isEqualTo(installation.query(0, scans.formatted("shard_0003")))
                .endsWith("9 999");
    }

    /** The old database has no lookups, so nothing but a comparison says what it has changed. */
    @Test
    @Tag("full")
    void valuesOfLookupsStayInShardsThatComeBack() throws IOException, SQLException {
        String[] options = options();
        succeeds("lookup", "create", "users.name", "--uid-column=id", "--id-column=id");
        cutOver(ShardSet.range(2, 3));
        succeeds("lookup", "backfill", "users.name");

        Cli.Result back = command("reverse", options, "--shards=2,3");
        assertThat(back.exitCode()).as(back.toString()).isZero();
        assertThat(back.err()).containsOnlyOnce("warning: lookups keep the values of these rows");
        installation.execute(OLD, "UPDATE shop.users SET name = 'changed in the old database' WHERE id = 11");
        cutOver(ShardSet.range(2, 3));
        Cli.Result differs = installation.launch("lookup", "verify", "users.name");
        assertThat(differs.exitCode()).as(differs.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(differs.out()).contains("changed in the old database");
    }

    /** While the old tables are open for the way back, no trigger refuses a row that has no shard. */
    @Test
    @Tag("full")
    void theAdoptionDoesNotEndAgainWithARowOfNoShard() throws SQLException {
        succeeds("lookup", "create", "users.name", "--uid-column=id", "--id-column=id");
        cutOver(ALL);
        succeeds("lookup", "backfill", "users.name");
        // As a command that was killed at the end leaves it.
        installation.execute(OLD, "UPDATE shardflake_adopt.adoption SET state = 'CLOSED'");
        AdoptListener writer = new AdoptListener() {
            @Override
            public void lookupValuesStay() {
                try {
                    installation.execute(OLD, "INSERT INTO shop.remark VALUES (77777, NULL, NULL, 'of no order')");
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
                throw new IllegalStateException("fails before a shard comes back");
            }
        };

        try (DatabaseAdopter adopter = AdoptSlicesTest.adopter(postgres, writer)) {
            assertThatThrownBy(() -> adopter.reverse(ShardSet.of(3)))
                    .hasMessage("fails before a shard comes back")
                    .satisfies(failure -> assertThat(failure.getSuppressed()[0]).hasMessageContaining("77777"));
        }
        assertThatThrownBy(() -> cutOver(ALL)).hasMessageContaining("77777");
        installation.execute(OLD, "DELETE FROM shop.remark WHERE id = 77777");
        cutOver(ALL);
        assertThat(installation.query(OLD, "SELECT DISTINCT state FROM shardflake_adopt.adoption"))
                .isEqualTo("FINISHED");
    }

    private void succeeds(String... command) {
        Cli.Result result = installation.launch(command);
        assertThat(result.exitCode()).as(result.toString()).isZero();
    }

    private String[] options() throws IOException {
        Path plan = AdoptSlicesTest.plan(directory);
        return new String[] {"--plan=" + plan, "--from=" + installation.url(OLD), "--yes"};
    }

    /** An equal value of a primary key, and an identity, which no UPDATE can set. */
    @Test
    void valuesThatOrdinaryUpdatesLeaveComeBack() throws SQLException {
        installation.execute(
                OLD,
                "ALTER TABLE shop.scan ALTER at TYPE numeric; ALTER TABLE shop.item ADD number integer GENERATED ALWAYS AS IDENTITY");
        for (int shard = 0; shard < 8; shard++) {
            installation.execute(
                    shard / 4,
                    "ALTER TABLE shard_000%1$s.scan ALTER at TYPE numeric; ALTER TABLE shard_000%1$s.item ADD number integer"
                            .formatted(shard));
        }
        cutOver(ShardSet.of(3));
        installation.execute(
                0, "UPDATE shard_0003.scan SET at = at + 0.0; UPDATE shard_0003.item SET number = -number");
        String scans = installation.query(0, "SELECT count(*) FROM shard_0003.scan");
        String items = installation.query(0, "SELECT count(*) FROM shard_0003.item");

        reverse(ALL);

        assertThat(installation.query(OLD, "SELECT count(*) FROM shop.scan WHERE scale(at) = 1"))
                .isEqualTo(scans)
                .isNotEqualTo("0");
        assertThat(installation.query(OLD, "SELECT count(*) FROM shop.item WHERE number < 0"))
                .isEqualTo(items)
                .isNotEqualTo("0");
    }

    private Map<String, String> old() throws SQLException {
        return DatabaseAdopterTest.wanted(installation);
    }

    /** Shard 3 accepts writes before and after. */
    private void refuses(String change, String undo, String... why) throws SQLException {
        installation.execute(0, change);
        assertThatThrownBy(() -> reverse(ShardSet.of(3)))
                .isInstanceOf(AdoptRefusedException.class)
                .message()
                .contains(why);
        assertThat(fenced()).isEqualTo("0");
        installation.execute(0, undo);
    }

    @Test
    @Tag("full")
    void aShareOfTheShardsComesBackByTheCommand() throws IOException, SQLException, InterruptedException {
        String[] options = options();

        assertThat(command("reverse", options, "--percent=100").err()).contains("shop.users is not being adopted");
        assertThat(command("cutover", options, "--percent=50").exitCode()).isZero();
        Cli.Result written = installation.launch(
                "sql", "--write", "--yes", "--uid=3", "UPDATE users SET name = 'later' WHERE id = 11");
        assertThat(written.exitCode()).as(written.toString()).isZero();
        assertThat(command("reverse", options, "--shards=3,7").out())
                .matches("1 shard came back; write pause: .*\n3 shards have left the old database\n");
        assertThat(installation.query(OLD, "SELECT name FROM shop.users WHERE id = 11"))
                .isEqualTo("later");
        try (Connection server = postgres.database(0).connect()) {
            assertThat(AdoptSlicesTest.outcome(server, "UPDATE shard_0003.users SET name = 'x' WHERE id = 11"))
                    .isEqualTo("SF001");
        }
        assertThat(command("reverse", options, "--shards=3").out())
                .isEqualTo("no shard had to come back\n3 shards have left the old database\n");
        saysWhereShardsAre();
        saysNothingOfAShardThatWasJustOpened();
        Cli.Result finish = installation.launch("adopt", "run", options[0], options[1], options[2], "--finish");
        assertThat(finish.exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(finish.err()).contains("shard 3 has come back");
        installation.execute(OLD, "UPDATE shop.users SET name = 'last' WHERE id = 11");
        assertThat(command("cutover", options, "--percent=100").exitCode()).isZero();
        assertThat(fenced()).isEqualTo("0");
        assertThat(DatabaseAdopterTest.found(installation)).isEqualTo(DatabaseAdopterTest.wanted(installation));
        allComeBackAfterTheLastHasLeft(options);
        Cli.Result cancelled = installation.launch("adopt", "run", options[0], options[1], "--cancel", "--yes");
        assertThat(cancelled.exitCode()).as(cancelled.toString()).isZero();
        assertThat(fenced()).isEqualTo("0");
    }

    /** One that the old tables cannot hold leaves the adoption as it was: ended, so that moves may begin. */
    private void allComeBackAfterTheLastHasLeft(String[] options) throws SQLException {
        String adoptions = "SELECT count(*) FROM shardflake_catalog.adoption";
        installation.execute(1, "INSERT INTO shard_0004.orders VALUES (99999999999, 4, 'new')");
        Cli.Result refused = command("reverse", options, "--shards=4");
        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err()).contains("value \"99999999999\" is out of range");
        assertThat(installation.query(0, adoptions)).isEqualTo("0");
        installation.execute(
                1,
                "DELETE FROM shard_0004.orders WHERE id = 99999999999; UPDATE shard_0004.users SET name = 'still' WHERE id = 4");

        assertThat(command("reverse", options, "--percent=100", "-o=json").out())
                .contains("\"over\":\"\"");

        assertThat(installation.query(OLD, "SELECT name FROM shop.users WHERE id = 4"))
                .isEqualTo("still");
        assertThat(installation.query(0, adoptions)).isNotEqualTo("0");
    }

    /** Shards 0 to 2 have left, 3 has come back. */
    private void saysWhereShardsAre() throws SQLException, InterruptedException {
        assertThat(installation.launch("adopt", "status").out())
                .contains(": shards 3-7 are in it; shard 3 of these has come back; shards 0-2 have left\n");
        assertThat(installation.launch("adopt", "status", "-o=json").out())
                .contains("\"remaining\":\"3-7\",\"over\":\"0-2\",\"back\":\"3\"");
        // As a command that was killed leaves shard 1, and a person shard 2.
        installation.execute(OLD, "INSERT INTO shardflake_adopt.fenced VALUES (1)");
        installation.execute(0, "SELECT shardflake.fence_shard(1), shardflake.fence_shard(2)");
        assertThat(installation.launch("adopt", "status").out()).contains("writes to shard 1 are refused");
        Cli.Result doctor = installation.launch("doctor", "--fix");
        assertThat(doctor.exitCode()).isNotZero();
        assertThat(doctor.out())
                .containsPattern("warning +db1 +shard-closed +refuses writes to shard 3, which has come back")
                .containsPattern(
                        "problem +db1 +shard-closed +refuses writes to shard 1, which a command that has ended")
                .containsPattern("problem +db1 +shard-closed +refuses writes to shard 2, which the shard map gives it")
                .contains("while no command of the adoption runs, open it with SELECT shardflake.unfence_shard(2)");
        assertThat(fenced()).isEqualTo("3");
        try (Watch watch =
                new Watch(url(0), server -> url(server.name().equals("db1") ? 0 : 1), old -> url(OLD), text -> {})) {
            InstallationSnapshot snapshot = watch.look();
            assertThat(IntStream.range(0, 4).mapToObj(snapshot::state))
                    .containsExactly(
                            PlacementState.OPEN, PlacementState.CLOSED, PlacementState.CLOSED, PlacementState.BACK);
            assertThat(snapshot.inOldDatabase()).isEqualTo(ShardSet.range(3, 7));
        }
        installation.execute(0, "SELECT shardflake.unfence_shard(2)");
        cutOver(ShardSet.of());
        assertThat(fenced()).isEqualTo("1");
    }

    private static ServerUrl url(int server) {
        return ServerUrl.parse(postgres.database(server).uri());
    }

    /** A command lets shard 2 accept writes again after doctor has asked its server, and before the old database answers. */
    private void saysNothingOfAShardThatWasJustOpened() throws SQLException {
        installation.execute(OLD, "INSERT INTO shardflake_adopt.fenced VALUES (2)");
        installation.execute(0, "SELECT shardflake.fence_shard(2)");
        CompletableFuture<Cli.Result> doctor;
        try (Connection old = postgres.database(OLD).connect()) {
            old.setAutoCommit(false);
            assertThat(AdoptSlicesTest.outcome(old, "LOCK TABLE shardflake_adopt.adoption IN ACCESS EXCLUSIVE MODE"))
                    .isEqualTo("ok");
            doctor = CompletableFuture.supplyAsync(() -> installation.launch("doctor"));
            boolean isWaiting = Poll.everyMillis(10, Duration.ofMinutes(1))
                    .until(() -> installation
                            .query(
                                    OLD,
                                    "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'shardflake_adopt.adoption'::regclass AND NOT granted)")
                            .equals("t"));
            assertThat(isWaiting).isTrue();
            installation.execute(0, "SELECT shardflake.unfence_shard(2)");
            assertThat(AdoptSlicesTest.outcome(old, "DELETE FROM shardflake_adopt.fenced WHERE shard = 2"))
                    .isEqualTo("ok");
            old.commit();
        }
        assertThat(doctor.join().out())
                .contains("refuses writes to shard 3, which has come back")
                .doesNotContain("shard 2");
    }

    private Cli.Result command(String name, String[] options, String... more) {
        List<String> command = new ArrayList<>(List.of("adopt", name));
        command.addAll(List.of(options));
        command.addAll(List.of(more));
        return installation.launch(command.toArray(String[]::new));
    }
}
