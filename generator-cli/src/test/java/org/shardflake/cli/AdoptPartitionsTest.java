/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.AdoptRefusedException;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.adopt.TableComparison;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.server.ServerUrl;

/** Partitioned tables of an old database, on two levels, whose partitions come and go. Shards 0 to 3 are on db1, 4 to 7 on db2. */
class AdoptPartitionsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;

    private static final int ROUNDS = Integer.getInteger("adopt.rounds", 3);

    private static final String OLD_TABLES = """
            CREATE SCHEMA shop;
            CREATE TABLE shop.users (id bigint PRIMARY KEY, name text) PARTITION BY HASH (id);
            CREATE TABLE shop.users_0 PARTITION OF shop.users FOR VALUES WITH (MODULUS 2, REMAINDER 0);
            CREATE TABLE shop.users_1 PARTITION OF shop.users FOR VALUES WITH (MODULUS 2, REMAINDER 1);
            CREATE TABLE shop.orders (id integer, day integer, region text, user_id bigint NOT NULL, note text, PRIMARY KEY (id, day, region)) PARTITION BY RANGE (day);
            CREATE TABLE shop.orders_0 PARTITION OF shop.orders FOR VALUES FROM (0) TO (10);
            CREATE TABLE shop.orders_1 PARTITION OF shop.orders FOR VALUES FROM (10) TO (20) PARTITION BY LIST (region);
            CREATE TABLE shop.orders_1_eu PARTITION OF shop.orders_1 FOR VALUES IN ('eu');
            CREATE TABLE shop.orders_1_us PARTITION OF shop.orders_1 DEFAULT;
            CREATE TABLE shop.item (order_id integer, day integer, region text, line integer, text text, PRIMARY KEY (line, order_id, day, region)) PARTITION BY LIST (region);
            CREATE TABLE shop.item_eu (text text, region text NOT NULL, line integer NOT NULL, day integer NOT NULL, order_id integer NOT NULL);
            ALTER TABLE shop.item ATTACH PARTITION shop.item_eu FOR VALUES IN ('eu');
            CREATE TABLE shop.item_us PARTITION OF shop.item DEFAULT;
            CREATE INDEX ON shop.item (order_id, day, region);
            INSERT INTO shop.users SELECT n, 'user ' || n FROM generate_series(1, 40) n;
            INSERT INTO shop.orders SELECT n, n % 20, CASE n % 3 WHEN 0 THEN 'eu' ELSE 'us' END, n % 40 + 1 FROM generate_series(1, 120) n;
            INSERT INTO shop.item SELECT id, day, region, l, 'item' FROM shop.orders, generate_series(1, 2) l;
            """;

    private static final String SHARD_TABLES = """
            CREATE TABLE users (id bigint PRIMARY KEY, name text);
            COMMENT ON COLUMN users.id IS 'shard key';
            CREATE TABLE orders (id bigint, day integer, region text, user_id bigint NOT NULL, note text, PRIMARY KEY (id, day, region));
            CREATE TABLE item (order_id bigint, day integer, region text, line integer, text text, user_id bigint NOT NULL, PRIMARY KEY (line, order_id, day, region)) PARTITION BY LIST (region);
            CREATE TABLE item_eu PARTITION OF item FOR VALUES IN ('eu');
            CREATE TABLE item_us PARTITION OF item DEFAULT;
            """;

    private static final List<AdoptTable> TABLES = List.of(
            new AdoptTable("shop.users", "users", "id", List.of(), null, List.of()),
            new AdoptTable("shop.orders", "orders", "user_id", List.of(), null, List.of()),
            new AdoptTable(
                    "shop.item",
                    "item",
                    "user_id",
                    List.of("order_id", "day", "region"),
                    "shop.orders",
                    List.of("id", "day", "region")));

    /** The query of each table in a shard, with the query of the old tables that must give the same rows, preceded by their key. */
    private static final Map<String, String> ROWS = Map.of(
            "SELECT id, name FROM SHARD.users",
            "SELECT id, id, name FROM shop.users",
            "SELECT id, day, region, user_id, note FROM SHARD.orders",
            "SELECT user_id, id, day, region, user_id, note FROM shop.orders",
            "SELECT order_id, day, region, line, text, user_id FROM SHARD.item",
            "SELECT o.user_id, i.order_id, i.day, i.region, i.line, i.text, o.user_id FROM shop.item i JOIN shop.orders o ON (o.id, o.day, o.region) = (i.order_id, i.day, i.region)");

    private final CliInstallation installation = new CliInstallation(postgres);

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() throws SQLException, IOException {
        if (postgres.restore("partitions")) {
            return;
        }
        installation.init();
        installation.execute(OLD, OLD_TABLES);
        Files.writeString(
                directory.resolve("app.sql"), "--liquibase formatted sql\n--changeset ann:shop\n" + SHARD_TABLES);
        Cli.Result deployed = installation.launch(
                "schema", "deploy", "--changelog=" + directory.resolve("app.sql"), "--search-path=" + directory);
        assertThat(deployed.exitCode()).as(deployed.toString()).isZero();
        postgres.save("partitions");
    }

    private static DatabaseAdopter adopter(AdoptListener listener) {
        ServerUrl catalog = url(0);
        return DatabaseAdopter.open(
                new DatabaseSettings(TABLES, 50, 2, 0),
                url(OLD),
                catalog,
                ShardCatalog.at(catalog).load(),
                server -> url(server.name().equals("db1") ? 0 : 1),
                listener);
    }

    private static ServerUrl url(int server) {
        return ServerUrl.parse(postgres.database(server).uri());
    }

    private static void run() {
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            adopter.run();
        }
    }

    /** The rows of each shard, as the old tables have them, and as the shards do. */
    private void requireEqual(String when) throws SQLException {
        for (Map.Entry<String, String> table : ROWS.entrySet()) {
            Map<Integer, Set<String>> wanted = new LinkedHashMap<>();
            Map<Integer, Set<String>> found = new LinkedHashMap<>();
            for (int shard = 0; shard < 8; shard++) {
                wanted.put(
                        shard,
                        rows(
                                OLD,
                                "SELECT to_json(array_remove(regexp_split_to_array(q::text, ','), NULL))::text FROM (%s) q (key) WHERE mod(key, 8) = %s"
                                        .formatted(table.getValue(), shard),
                                1));
                found.put(
                        shard,
                        rows(
                                shard / 4,
                                "SELECT to_json(regexp_split_to_array(q::text, ','))::text FROM (%s) q"
                                        .formatted(table.getKey().replace("SHARD", Sharding.schema(shard))),
                                0));
            }
            assertThat(found).as("%s: %s".formatted(when, table.getKey())).isEqualTo(wanted);
        }
    }

    /** Rows as text, without the first values. */
    private Set<String> rows(int server, String sql, int left) throws SQLException {
        Set<String> rows = new TreeSet<>();
        try (Connection connection = postgres.database(server).connect();
                Statement statement = connection.createStatement();
                var found = statement.executeQuery(sql)) {
            while (found.next()) {
                String row = found.getString(1).replace("[\"(", "[\"");
                rows.add(left == 0 ? row : "[" + row.substring(row.indexOf(',') + 1));
            }
        }
        return rows;
    }

    private final Random random = new Random();
    private int next = 1000;
    private int ranges = 2;

    private String partition() throws SQLException {
        List<String> all = new ArrayList<>(rows(
                OLD,
                "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'shop.orders'::regclass AND inhrelid::regclass::text NOT IN ('shop.orders_0', 'shop.orders_1')",
                0));
        return all.isEmpty() ? "shop.none" : all.get(random.nextInt(all.size()));
    }

    private String bound(String partition) throws SQLException {
        return installation.query(
                OLD,
                "SELECT max(pg_get_expr(relpartbound, oid)) FROM pg_class WHERE oid = to_regclass('" + partition
                        + "')");
    }

    /** A change that an application, or somebody who looks after its partitions, makes. */
    private String change() throws SQLException {
        int id = random.nextInt(120) + 1;
        int day = random.nextInt(10 * ranges);
        int user = random.nextInt(40) + 1;
        next++;
        return switch (random.nextInt(18)) {
            case 0 -> "INSERT INTO shop.users VALUES (%s, 'new')".formatted(next);
            case 1 -> "INSERT INTO shop.orders VALUES (%s, %s, 'eu', %s, 'new')".formatted(next, day, user);
            case 2 ->
                "INSERT INTO shop.item SELECT id, day, region, 3, 'new' FROM shop.orders WHERE id = %s".formatted(id);
            case 3 -> "UPDATE shop.orders SET day = %s WHERE id = %s".formatted(day, id);
            case 4 -> "UPDATE shop.orders SET user_id = %s WHERE id %% 20 = %s".formatted(user, id % 20);
            case 5 -> "UPDATE shop.item SET region = 'eu' WHERE order_id = %s".formatted(id);
            case 6 -> "UPDATE shop.orders o SET region = 'eu' WHERE id = %s".formatted(id);
            case 7 -> "DELETE FROM shop.orders WHERE id %% 30 = %s".formatted(id % 30);
            case 8 -> "DELETE FROM shop.item WHERE order_id = %s".formatted(id);
            case 9 -> "UPDATE shop.users SET id = %s WHERE id = %s".formatted(next, user);
            case 10 -> "UPDATE shop.orders_1_eu SET note = 'direct' WHERE id %% 2 = %s".formatted(id % 2);
            case 11 ->
                "CREATE TABLE shop.p%1$s PARTITION OF shop.orders FOR VALUES FROM (%2$s) TO (%3$s); INSERT INTO shop.orders VALUES (%1$s, %2$s, 'x', %4$s)"
                        .formatted(next, 10 * ranges, 10 * ++ranges, user);
            case 12 -> """
                CREATE TABLE shop.p%1$s (LIKE shop.orders INCLUDING ALL); INSERT INTO shop.p%1$s SELECT n, %2$s, 'eu', %4$s FROM generate_series(%1$s, %1$s + 9) n;
                INSERT INTO shop.item SELECT id, day, region, 1, 'attached' FROM shop.p%1$s;
                ALTER TABLE shop.orders ATTACH PARTITION shop.p%1$s FOR VALUES FROM (%2$s) TO (%3$s)
                """.formatted(next, 10 * ranges, 10 * ++ranges, user);
            case 13 -> "ALTER TABLE shop.orders DETACH PARTITION " + partition();
            case 14 -> "DROP TABLE " + partition();
            case 15 -> {
                String one = partition();
                yield """
                        ALTER TABLE shop.orders DETACH PARTITION %1$s; DELETE FROM %1$s WHERE id %% 2 = 0; UPDATE %1$s SET user_id = %2$s WHERE id %% 3 = 0;
                        ALTER TABLE shop.orders ATTACH PARTITION %1$s %3$s
                        """.formatted(one, user, bound(one));
            }
            case 16 ->
                "ALTER TABLE shop.orders DETACH PARTITION shop.orders_1; UPDATE shop.orders_1 SET user_id = %s WHERE id %% 2 = 0; ALTER TABLE shop.orders ATTACH PARTITION shop.orders_1 FOR VALUES FROM (10) TO (20)"
                        .formatted(user);
            default -> """
                ALTER TABLE shop.orders DISABLE TRIGGER ALL; ALTER TABLE shop.item DISABLE TRIGGER ALL;
                UPDATE shop.orders SET user_id = %1$s WHERE id %% 9 = 0; DELETE FROM shop.item WHERE order_id %% 10 = 1; DELETE FROM shop.orders WHERE id = %2$s;
                ALTER TABLE shop.orders ENABLE TRIGGER ALL; ALTER TABLE shop.item ENABLE TRIGGER ALL
                """.formatted(user, id);
        };
    }

    @Test
    void partitionsComeAndGo() throws SQLException {
        run();
        requireEqual("first");
        for (int round = 0; round < ROUNDS; round++) {
            StringBuilder changes = new StringBuilder();
            for (int i = 0; i < 12; i++) {
                String change = change();
                String outcome = outcome(change);
                changes.append("\n").append(outcome).append(": ").append(change);
                assertThat(outcome).as(change).isIn("ok", "23505", "23514", "42P01", "SF001");
            }
            run();
            requireEqual("round %s:%s".formatted(round, changes));
            try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
                assertThat(adopter.verify())
                        .noneMatch(table -> !table.differences().isEmpty());
            }
        }
        leaveAndComeBack();
    }

    private void leaveAndComeBack() throws SQLException {
        installation.execute(
                OLD,
                "DELETE FROM shop.item i WHERE NOT EXISTS (SELECT FROM shop.orders o WHERE (o.id, o.day, o.region) = (i.order_id, i.day, i.region)); INSERT INTO shop.users VALUES (11, 'of shard 3'), (12, 'of 4') ON CONFLICT DO NOTHING");
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            assertThat(adopter.cutOver(ShardSet.range(0, 3)).now()).hasSize(4);
        }
        String insert = "INSERT INTO shop.%s VALUES (%s, 5, 'eu', %s)";
        assertThat(outcome(insert.formatted("orders", 5001, 11))).isEqualTo("SF001");
        assertThat(outcome(insert.formatted("orders_1_eu", 5001, 11).replace("5, 'eu'", "15, 'eu'")))
                .isEqualTo("SF001");
        assertThat(outcome(insert.formatted("orders", 5002, 12))).isEqualTo("ok");
        assertThat(outcome("UPDATE shop.orders SET day = 12, region = 'us' WHERE id = 5002"))
                .isEqualTo("ok");
        assertThat(outcome("UPDATE shop.orders SET user_id = 11, day = 5 WHERE id = 5002"))
                .isEqualTo("SF001");
        assertThat(outcome("UPDATE shop.orders SET user_id = 13, day = 5 WHERE id = 5002"))
                .isEqualTo("55006");
        assertThat(outcome("INSERT INTO shop.item VALUES (5002, 12, 'us', 1, 'late')"))
                .isEqualTo("ok");
        assertThat(outcome("TRUNCATE shop.orders_0")).isEqualTo("55006");
        installation.execute(0, """
                INSERT INTO shard_0003.orders VALUES (6001, 5, 'eu', 11, 'new'), (6002, 15, 'us', 11, 'new');
                INSERT INTO shard_0003.item VALUES (6001, 5, 'eu', 1, 'new', 11);
                UPDATE shard_0001.orders SET day = 3 WHERE day BETWEEN 10 AND 19;
                """);
        run();
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            assertThatThrownBy(() -> {
                        installation.execute(0, "INSERT INTO shard_0002.orders VALUES (6003, 100000, 'eu', 10)");
                        adopter.reverse(ShardSet.of(2));
                    })
                    .isInstanceOf(AdoptRefusedException.class)
                    .hasMessageContaining("no partition of relation \"orders\" found for row");
        }
        installation.execute(0, "DELETE FROM shard_0002.orders WHERE id = 6003");
        // Items of orders whose day was changed have lost their way.
        installation.execute(
                0,
                "DELETE FROM shard_0001.item i WHERE NOT EXISTS (SELECT FROM shard_0001.orders o WHERE (o.id, o.day, o.region) = (i.order_id, i.day, i.region))");
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            assertThat(adopter.reverse(ShardSet.range(0, 3)).now()).hasSize(4);
        }
        requireEqual("back");
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            assertThat(adopter.cutOver(ShardSet.range(0, 7)).remaining().isEmpty())
                    .isTrue();
        }
        assertThat(outcome(insert.formatted("orders_0", 5003, 12))).isEqualTo("SF001");
    }

    private String outcome(String sql) throws SQLException {
        try (Connection connection = postgres.database(OLD).connect()) {
            connection.setAutoCommit(false);
            String outcome = AdoptSlicesTest.outcome(connection, sql);
            if (outcome.equals("ok")) {
                connection.commit();
            }
            return outcome;
        }
    }

    @Test
    void aPartitionThatCameWhileRowsWereCopiedMayGo() throws SQLException {
        AtomicBoolean hasCome = new AtomicBoolean();
        try (DatabaseAdopter adopter = adopter(new AdoptListener() {
            @Override
            public void copied(long rows, long estimate) {
                if (hasCome.compareAndSet(false, true)) {
                    try {
                        installation.execute(
                                OLD,
                                "CREATE TABLE shop.late PARTITION OF shop.orders FOR VALUES FROM (20) TO (30); INSERT INTO shop.orders VALUES (900, 20, 'eu', 5, 'late')");
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                }
            }
        })) {
            adopter.run();
        }
        requireEqual("while it is there");
        assertThat(outcome("TRUNCATE shop.late")).isEqualTo("55006");
        installation.execute(OLD, "DROP TABLE shop.late");
        run();
        requireEqual("when it is gone");
    }

    /** It is on record for no run, so nothing would say that its rows are gone. */
    @Test
    void aPartitionThatComesAndGoesDuringARunLeavesNothing() throws SQLException {
        run();
        installation.execute(OLD, """
                CREATE TABLE shop.late (LIKE shop.orders INCLUDING ALL);
                INSERT INTO shop.late SELECT 5000 + n, 20, 'eu', n % 40 + 1, 'late' FROM generate_series(1, 100) n;
                INSERT INTO shop.item SELECT id, day, region, 1, 'late' FROM shop.late;
                """);
        for (String table : List.of("shop.orders", "shop.item")) {
            runWhileAPartitionComes(table);
            installation.execute(OLD, "ALTER TABLE shop.orders DETACH PARTITION shop.late");
            run();
            requireEqual("it has gone, and " + table);
        }
        runWhileAPartitionComes("shop.orders");
        run();
        requireEqual("it stays");
    }

    /** Rows that only the shards have look like rows that went with a partition. */
    @Test
    void aPartitionThatGoesWhenAllIsFinishedTakesNoRows() throws SQLException {
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            adopter.finish();
        }
        installation.execute(0, "INSERT INTO shard_0000.orders VALUES (7000, 11, 'eu', 8, 'new')");
        installation.execute(OLD, "ALTER TABLE shop.orders_1 DETACH PARTITION shop.orders_1_eu");

        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            assertThat(adopter.verify()).anyMatch(table -> table.table().equals("shop.orders") && table.differs());
        }

        assertThat(installation.query(0, "SELECT note FROM shard_0000.orders WHERE id = 7000"))
                .isEqualTo("new");
    }

    /** Changes of a table are followed, those of the partition's rows last. */
    private void runWhileAPartitionComes(String table) throws SQLException {
        String change = "UPDATE %s SET region = region;".formatted(table);
        installation.execute(OLD, change.repeat(4));
        AtomicBoolean hasCome = new AtomicBoolean();
        try (DatabaseAdopter adopter = adopter(new AdoptListener() {
            @Override
            public void followed(long changes) {
                if (hasCome.compareAndSet(false, true)) {
                    try {
                        installation.execute(
                                OLD,
                                "ALTER TABLE shop.orders ATTACH PARTITION shop.late FOR VALUES FROM (20) TO (30); "
                                        + change.replace(";", " WHERE day = 20"));
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                }
            }
        })) {
            adopter.run();
        }
        assertThat(hasCome).isTrue();
    }

    /** {@code pg_restore --disable-triggers} ends with {@code ENABLE TRIGGER ALL}, which changes these triggers, too. */
    @Test
    void triggersThatOthersHaveChangedArePutBack() throws SQLException {
        run();
        installation.execute(OLD, "ALTER TABLE shop.users DISABLE TRIGGER ALL");
        installation.execute(
                OLD,
                "UPDATE shop.users SET name = 'unseen' WHERE id < 10; DELETE FROM shop.users WHERE id = 20; UPDATE shop.users SET id = 1005 WHERE id = 30");
        installation.execute(OLD, "ALTER TABLE shop.users ENABLE TRIGGER ALL");

        assertThatThrownBy(() -> installation.execute(OLD, "INSERT INTO shop.users VALUES (2000, 'refused')"))
                .hasMessageContaining("its rows live in shards now");
        assertThat(installation.launch("adopt", "status").out())
                .contains("shardflake_adopt_closed of shop.users_0 is enabled: run shardflake adopt run")
                .contains("shardflake_adopt_note of shop.users is not enabled for replication");
        assertThat(installation.launch("doctor").out())
                .containsPattern("adoption-triggers.*shardflake_adopt_note of shop.users is");
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            assertThatThrownBy(() -> adopter.cutOver(ShardSet.of(1)))
                    .isInstanceOf(AdoptRefusedException.class)
                    .hasMessageContaining("someone has changed triggers of adopt");
            assertThatThrownBy(adopter::verify)
                    .isInstanceOf(AdoptRefusedException.class)
                    .hasMessageContaining("someone has changed triggers of adopt");
        }
        List<String> repaired = new ArrayList<>();
        try (DatabaseAdopter adopter = adopter(new AdoptListener() {
            @Override
            public void repaired(List<String> problems, boolean someLeft) {
                repaired.addAll(problems);
            }
        })) {
            adopter.run();
            assertThat(adopter.verify()).noneMatch(TableComparison::differs);
        }
        assertThat(repaired).contains("shardflake_adopt_closed of shop.users_1 is enabled");
        installation.execute(OLD, "INSERT INTO shop.users VALUES (2000, 'accepted')");
        installation.execute(
                OLD, "DROP TRIGGER shardflake_adopt_note ON shop.orders; DELETE FROM shop.orders WHERE id < 9");
        run();
        requireEqual("after the repair");
        assertThat(installation.launch("adopt", "status").out()).doesNotContain("shardflake_adopt_");
    }
}
