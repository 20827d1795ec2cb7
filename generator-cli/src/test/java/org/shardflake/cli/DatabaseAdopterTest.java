/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardflakeException;
import org.shardflake.Sharding;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.AdoptRefusedException;
import org.shardflake.adopt.AdoptReport;
import org.shardflake.adopt.AdoptState;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.adopt.TableComparison;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.adoption.AdoptionPlan.Step;
import org.shardflake.adoption.AdoptionPlanFile;
import org.shardflake.adoption.TableName;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.watch.Exporter;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.server.ServerUrl;
import org.shardflake.watch.Watch;

/** Shards 0 to 3 are on db1, 4 to 7 on db2, and the tables to adopt are in a third database. Only users and orders have the key. */
class DatabaseAdopterTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;

    /** Foreign keys of several kinds: with actions, deferred to the end of the transaction, by two columns, by a unique key, without any. */
    static final String OLD_TABLES = """
            CREATE SCHEMA shop;
            CREATE TABLE shop.users (id bigint PRIMARY KEY, name text);
            CREATE TABLE shop.orders (id integer PRIMARY KEY, user_id bigint NOT NULL REFERENCES shop.users ON DELETE CASCADE ON UPDATE CASCADE,
                                      code text COLLATE "C" NOT NULL UNIQUE, note text);
            CREATE INDEX ON shop.orders (user_id);
            CREATE TABLE shop.item (order_id integer REFERENCES shop.orders ON DELETE CASCADE ON UPDATE CASCADE, line smallint, text text,
                                    PRIMARY KEY (order_id, line));
            CREATE TABLE shop.parcel (id bigint PRIMARY KEY, code text COLLATE "C" NOT NULL, text text,
                                      FOREIGN KEY (code) REFERENCES shop.orders (code) ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED);
            CREATE INDEX ON shop.parcel (code);
            CREATE TABLE shop.remark (id bigint PRIMARY KEY, order_id integer, line smallint, text text,
                                      FOREIGN KEY (order_id, line) REFERENCES shop.item ON DELETE SET NULL ON UPDATE CASCADE);
            CREATE INDEX ON shop.remark (order_id, line);
            CREATE TABLE shop.scan (parcel_id bigint NOT NULL, at integer, PRIMARY KEY (at, parcel_id));
            CREATE INDEX ON shop.scan (parcel_id);
            INSERT INTO shop.users SELECT n, 'user ' || n FROM generate_series(1, 40) n;
            INSERT INTO shop.orders SELECT n, n % 40 + 1, 'code ' || n, NULL FROM generate_series(1, 100) n;
            INSERT INTO shop.item SELECT n % 100 + 1, n / 100, 'item ' || n FROM generate_series(1, 299) n;
            INSERT INTO shop.parcel SELECT n, 'code ' || (n % 100 + 1), 'parcel ' || n FROM generate_series(1, 150) n;
            INSERT INTO shop.remark SELECT n, n % 100 + 1, 1, 'remark ' || n FROM generate_series(1, 150) n;
            INSERT INTO shop.scan SELECT n % 150 + 1, n FROM generate_series(1, 300) n;
            """;

    static final String SHARD_TABLES = """
            CREATE TABLE users (id bigint PRIMARY KEY, name text);
            COMMENT ON COLUMN users.id IS 'shard key';
            CREATE TABLE orders (id bigint PRIMARY KEY, user_id bigint NOT NULL, code text NOT NULL, note text);
            CREATE TABLE item (order_id bigint, line smallint, text text, user_id bigint NOT NULL, PRIMARY KEY (order_id, line));
            CREATE TABLE parcel (id bigint PRIMARY KEY, user_id bigint NOT NULL, code text NOT NULL, text text);
            CREATE TABLE remark (id bigint PRIMARY KEY, user_id bigint NOT NULL, order_id bigint, line smallint, text text);
            CREATE TABLE scan (user_id bigint NOT NULL, parcel_id bigint NOT NULL, at integer, PRIMARY KEY (at, parcel_id));
            """;

    static final List<AdoptTable> TABLES = List.of(
            linked("scan", List.of("parcel_id"), "parcel", List.of("id")),
            linked("remark", List.of("order_id", "line"), "item", List.of("order_id", "line")),
            keyed("users", "id"),
            linked("parcel", List.of("code"), "orders", List.of("code")),
            linked("item", List.of("order_id"), "orders", List.of("id")),
            keyed("orders", "user_id"));

    /** What is in the shards, as the old tables say: the columns, and where they come from. */
    static final Map<String, String> ROWS = new LinkedHashMap<>(
            Map.of(
                    "users (id, name)", "SELECT id, id, name FROM shop.users",
                    "orders (id, user_id, code, note)", "SELECT user_id, id, user_id, code, note FROM shop.orders",
                    "item (order_id, line, text, user_id)",
                            "SELECT o.user_id, i.order_id, i.line, i.text, o.user_id FROM shop.item i JOIN shop.orders o ON o.id = i.order_id",
                    "parcel (id, user_id, code, text)",
                            "SELECT o.user_id, p.id, o.user_id, p.code, p.text FROM shop.parcel p JOIN shop.orders o ON o.code = p.code",
                    "remark (id, user_id, order_id, line, text)",
                            "SELECT o.user_id, r.id, o.user_id, r.order_id, r.line, r.text FROM shop.remark r JOIN shop.orders o ON o.id = r.order_id",
                    "scan (user_id, parcel_id, at)",
                            "SELECT o.user_id, o.user_id, s.parcel_id, s.at FROM shop.scan s JOIN shop.parcel p ON p.id = s.parcel_id JOIN shop.orders o ON o.code = p.code"));

    private final CliInstallation installation = new CliInstallation(postgres);

    @TempDir
    private Path directory;

    private static AdoptTable keyed(String table, String key) {
        return new AdoptTable("shop." + table, table, key, List.of(), null, List.of());
    }

    private static AdoptTable linked(String table, List<String> columns, String parent, List<String> to) {
        return new AdoptTable("shop." + table, table, "user_id", columns, "shop." + parent, to);
    }

    @BeforeEach
    void begin() throws SQLException, IOException {
        AdoptSlicesTest.begin(postgres, installation, directory);
    }

    private DatabaseAdopter adopter(int batch, AdoptListener listener) {
        ServerUrl catalog = url(0);
        return DatabaseAdopter.open(
                new DatabaseSettings(TABLES, batch, 3, 0),
                url(OLD),
                catalog,
                ShardCatalog.at(catalog).load(),
                server -> url(server.name().equals("db1") ? 0 : 1),
                listener);
    }

    private static ServerUrl url(int server) {
        return ServerUrl.parse(postgres.database(server).uri());
    }

    /** Each row with its shard, by table, as the old tables have them. */
    private Map<String, String> wanted() throws SQLException {
        return wanted(installation);
    }

    static Map<String, String> wanted(CliInstallation installation) throws SQLException {
        Map<String, String> wanted = new TreeMap<>();
        for (Map.Entry<String, String> table : ROWS.entrySet()) {
            wanted.put(
                    table.getKey(),
                    installation.query(
                            OLD,
                            "SELECT string_agg(v, E'\\n' ORDER BY v COLLATE \"C\") FROM (SELECT (uid %% 8) || ': ' || row_to_json(k)::text FROM (%s) q (uid%s) CROSS JOIN LATERAL (SELECT %s) k) w (v)"
                                    .formatted(
                                            table.getValue(),
                                            table.getKey()
                                                    .replaceFirst(".*\\(", ", ")
                                                    .replace(")", ""),
                                            table.getKey()
                                                    .replaceFirst(".*\\(", "")
                                                    .replace(")", ""))));
        }
        return wanted;
    }

    /** The rows that the shards have, in the same form. */
    private Map<String, String> found() throws SQLException {
        return found(installation);
    }

    static Map<String, String> found(CliInstallation installation) throws SQLException {
        Map<String, String> found = new TreeMap<>();
        for (String table : ROWS.keySet()) {
            String name = table.replaceFirst(" .*", "");
            String columns = table.replaceFirst(".*\\(", "").replace(")", "");
            List<String> lines = new ArrayList<>();
            for (int shard = 0; shard < 8; shard++) {
                String rows = installation.query(
                        shard / 4,
                        "SELECT string_agg('%s: ' || row_to_json(k)::text, E'\\n') FROM %s.%s t CROSS JOIN LATERAL (SELECT %s) k"
                                .formatted(shard, Sharding.schema(shard), name, columns));
                if (!rows.equals("null")) {
                    lines.addAll(List.of(rows.split("\n", -1)));
                }
            }
            lines.sort(null);
            found.put(table, lines.isEmpty() ? "null" : String.join("\n", lines));
        }
        return found;
    }

    @Test
    void childrenGetTheKeysOfTheirParents() throws SQLException {
        try (DatabaseAdopter adopter = adopter(100, AdoptListener.NONE)) {
            assertThat(adopter.run()).extracting(AdoptReport::state).containsOnly(AdoptState.FOLLOWING);
        }
        assertThat(found()).isEqualTo(wanted());
        installation.execute(OLD, """
                UPDATE shop.users SET id = 1001 WHERE id = 1;
                UPDATE shop.users SET id = 1008 + 2 WHERE id = 2;
                UPDATE shop.orders SET user_id = 7 WHERE id = 10;
                UPDATE shop.orders SET id = 2000 WHERE id = 11;
                UPDATE shop.orders SET code = 'other' WHERE id = 12;
                DELETE FROM shop.orders WHERE id = 13 AND code NOT IN (SELECT code FROM shop.parcel);
                BEGIN; DELETE FROM shop.orders WHERE id = 14; INSERT INTO shop.orders VALUES (14, 35, 'code 14', 'again'); COMMIT;
                DELETE FROM shop.remark WHERE order_id IS NULL;
                DELETE FROM shop.parcel WHERE id = 20;
                INSERT INTO shop.parcel VALUES (20, 'code 77', 'another');
                """);

        List<AdoptReport> finished;
        try (DatabaseAdopter adopter = adopter(100, AdoptListener.NONE)) {
            finished = adopter.finish();
        }

        assertThat(finished).extracting(AdoptReport::state).containsOnly(AdoptState.FINISHED);
        assertThat(finished).extracting(AdoptReport::comparedRows).doesNotContain(-1L);
        assertThat(found()).isEqualTo(wanted());
        assertThatThrownBy(() -> installation.execute(OLD, "UPDATE shop.item SET text = 'late'"))
                .hasMessageContaining("its rows live in shards now");
        assertThat(installation.launch("adopt", "status").out()).isEqualTo("no adoption is in progress\n");
        try (DatabaseAdopter adopter = adopter(100, AdoptListener.NONE)) {
            adopter.reopen();
            adopter.cancel();
        }
        assertThat(installation.query(OLD, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'shardflake%'"))
                .isEqualTo("0");
        assertThat(found().values()).containsOnly("null");
    }

    @Test
    void rowsWithoutAShardAreNamedAndTriedAgain() throws SQLException {
        installation.execute(OLD, "UPDATE shop.remark SET line = NULL WHERE id IN (5, 7)");
        try (DatabaseAdopter adopter = adopter(100, AdoptListener.NONE)) {
            assertThatThrownBy(adopter::run)
                    .isInstanceOf(AdoptRefusedException.class)
                    .hasMessageContaining("rows of shop.remark have no shard", "(5) and (7)");
        }
        installation.execute(OLD, "UPDATE shop.remark SET line = 1 WHERE id IN (5, 7)");
        try (DatabaseAdopter adopter = adopter(100, AdoptListener.NONE)) {
            adopter.run();
        }
        // Nothing is noted of a scan when its parcel comes later.
        installation.execute(
                OLD, "INSERT INTO shop.scan VALUES (9000, 1); UPDATE shop.remark SET line = NULL WHERE id = 5");
        try (DatabaseAdopter adopter = adopter(100, AdoptListener.NONE)) {
            assertThatThrownBy(adopter::finish)
                    .isInstanceOf(AdoptRefusedException.class)
                    .hasMessageContaining("have no shard");
        }
        installation.execute(
                OLD, "INSERT INTO shop.parcel VALUES (9000, 'code 9', 'late'); DELETE FROM shop.remark WHERE id = 5");
        try (DatabaseAdopter adopter = adopter(100, AdoptListener.NONE)) {
            adopter.finish();
        }
        assertThat(found()).isEqualTo(wanted());
    }

    /** A run that is killed after it has copied a table again, and before the table's parents, leaves such rows when the parents move. */
    @Test
    void rowsThatAreCopiedAgainLeaveShardsThatTheirParentsWereNeverIn() throws SQLException {
        try (DatabaseAdopter adopter = adopter(100, AdoptListener.NONE)) {
            adopter.run();
        }
        installation.execute(0, "INSERT INTO shard_0001.item SELECT * FROM shard_0003.item WHERE order_id = 10");
        assertThat(found()).isNotEqualTo(wanted());
        installation.execute(OLD, "ALTER TABLE shop.item DISABLE TRIGGER shardflake_adopt_note");

        try (DatabaseAdopter adopter = adopter(100, AdoptListener.NONE)) {
            adopter.run();
        }

        assertThat(found()).isEqualTo(wanted());
    }

    @Test
    void aPlanIsRunByItsCommand() throws SQLException, IOException {
        Path plan = Files.writeString(directory.resolve("adoption.yaml"), AdoptionPlanFile.format(plan("id")));
        String[] run = {"adopt", "run", "--plan=" + plan, "--from=" + installation.url(OLD)};

        assertThat(installation.launch(run).out())
                .startsWith("TABLE ")
                .containsPattern("shop.item +item +following +299 +0")
                .endsWith("\nwhen the application is ready to write to the shards, add --finish\n");
        assertThat(installation.launch("adopt", "verify", run[2], run[3]).out())
                .startsWith("TABLE ")
                .containsPattern("shop.scan +scan +300 +8 +0 +0")
                .endsWith("\nno row differs\n");
        installation.execute(1, "UPDATE shard_0007.item SET text = 'other' WHERE (order_id, line) = (6, 1)");
        Cli.Result differs = installation.launch("adopt", "verify", run[2], run[3]);
        assertThat(differs.exitCode()).as(differs.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(differs.out()).contains("\nshard_0007.item: 1 different (6,1)\n");
        Cli.Result refused = installation.launch(run[0], run[1], run[2], run[3], "--finish", "--yes");
        assertThat(refused.err())
                .contains(
                        "shard 7 has other values",
                        "shardflake adopt verify " + run[2].replace('=', ' '),
                        " names the rows that differ");
        installation.execute(OLD, "UPDATE shop.item SET text = text WHERE (order_id, line) = (6, 1)");
        Cli.Result finished = installation.launch(run[0], run[1], run[2], run[3], "--finish", "--yes", "--rate=100000");

        assertThat(finished.exitCode()).as(finished.toString()).isZero();
        assertThat(finished.out()).containsPattern("shop.scan +scan +finished +300 +0 +300");
        assertThat(found()).isEqualTo(wanted());
        Path other = Files.writeString(directory.resolve("other.yaml"), AdoptionPlanFile.format(plan("code")));
        assertThat(installation
                        .launch("adopt", "run", "--plan=" + other, run[3])
                        .err())
                .contains("the path of shop.scan goes on from shop.parcel by another way than that table's own");
    }

    /** @param last a column of orders in the path of scans; that of parcels is the code */
    static AdoptionPlan plan(String last) {
        Step toOrders = new Step(List.of("code"), name("orders"), List.of("code"));
        Step other = last.equals("code") ? new Step(List.of("text"), name("orders"), List.of("code")) : toOrders;
        return new AdoptionPlan(
                new AdoptionPlan.Source("app", List.of("shop")),
                new AdoptionPlan.Key(name("users"), "id"),
                List.of(
                        planned("users", "id"),
                        planned("orders", "user_id"),
                        planned("item", null, new Step(List.of("order_id"), name("orders"), List.of("id"))),
                        planned("parcel", null, toOrders),
                        planned(
                                "remark",
                                null,
                                new Step(List.of("order_id", "line"), name("item"), List.of("order_id", "line")),
                                new Step(List.of("order_id"), name("orders"), List.of("id"))),
                        planned("scan", null, new Step(List.of("parcel_id"), name("parcel"), List.of("id")), other)),
                List.of(),
                new AdoptionPlan.Changelogs("shards.sql", null),
                List.of());
    }

    private static AdoptionPlan.Table planned(String table, @Nullable String key, Step... path) {
        return new AdoptionPlan.Table(
                name(table),
                AdoptionPlan.Goes.SHARDS,
                null,
                key,
                List.of(path),
                key == null ? "user_id" : null,
                AdoptionPlan.Ids.KEPT);
    }

    private static TableName name(String table) {
        return new TableName("shop", table);
    }

    @Test
    void oneOfSeveralIsNotContinuedAlone() {
        try (DatabaseAdopter adopter = adopter(100, AdoptListener.NONE)) {
            adopter.run();
        }
        assertThat(installation
                        .launch(
                                "adopt",
                                "run",
                                "--table=shop.orders",
                                "--key=user_id",
                                "--from=" + installation.url(OLD))
                        .err())
                .contains("also for tables that refer to (code), (id)");
    }

    @Test
    void survivesWritersAndLostSessions() throws Exception {
        random(new Random().nextLong(), 4);
    }

    @Test
    @Tag("full")
    void survivesWritersAndLostSessionsForLong() throws Exception {
        random(Nights.seed(3), 25);
    }

    @Test
    void statusDoctorAndExporterSayHowFarItIs() throws Exception {
        try (DatabaseAdopter adopter = adopter(100, AdoptListener.NONE)) {
            adopter.run();
        }
        installation.execute(OLD, "UPDATE shop.scan SET at = at + 1000 WHERE at < 4");
        assertThat(installation.launch("adopt", "status").out())
                .containsPattern("shop.scan +scan +following +300 +6 +[0-9]+ s ")
                .containsPattern("shop.users +users +following +40 +0 +- ");
        assertThat(installation.launch("doctor").out()).doesNotContain("adoption-behind", "adoption-closed");
        installation.execute(0, "SELECT shardflake.fence_shard(3)");
        assertThat(installation.launch("doctor", "--fix").out())
                .containsPattern("fixed +db1 +shard-closed +refuses writes to shard 3, which the shard map gives it");
        installation.execute(OLD, """
                UPDATE shardflake_adopt.adoption SET state = 'CLOSED' WHERE source = 'shop.users';
                DO $$ BEGIN EXECUTE (SELECT format('UPDATE shardflake_adopt.changes_%s SET shardflake_at = now() - interval %L', id, '2 hours')
                                       FROM shardflake_adopt.adoption WHERE source = 'shop.scan'); END $$
                """);

        assertThat(installation.launch("doctor").out())
                .containsPattern("adoption-closed.*shop.users of .* refuses writes")
                .containsPattern("adoption-behind.*shop.scan of .* has 6 changes that the shards lack, the oldest of ");
        List<String> told = Collections.synchronizedList(new ArrayList<>());
        try (Watch watch = new Watch(url(0), server -> url(server.name().equals("db1") ? 0 : 1), told::add);
                Exporter exporter = Exporter.start(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), watch, 0, told::add)) {
            URI metrics = URI.create(
                    "http://localhost:%s/metrics".formatted(exporter.address().getPort()));
            String scraped = HttpClient.newHttpClient()
                    .send(HttpRequest.newBuilder(metrics).build(), BodyHandlers.ofString())
                    .body();
            assertThat(scraped)
                    .containsPattern(
                            "shardflake_adoption_state\\{adoption=\"[-0-9a-f]+\",into=\"users\",state=\"closed\",table=\"shop.users\"} 1.0")
                    .containsPattern("shardflake_adoption_changes\\{adoption=\"[-0-9a-f]+\",table=\"shop.scan\"} 6.0")
                    .containsPattern("shardflake_adoption_change_age_seconds\\{[^}]+shop.scan\"} 72[0-9]{2}.0");
        }
        assertThat(told).isEmpty();
    }

    @Test
    void verifyFindsWhatDiffersAndNothingElse() throws Exception {
        verifyAmongWriters(new Random().nextLong(), 2);
    }

    @Test
    @Tag("full")
    void verifyFindsWhatDiffersAndNothingElseForLong() throws Exception {
        verifyAmongWriters(Nights.seed(2), 8);
    }

    /** Rows that the writers leave alone are damaged in the shards, in another way each turn, and repaired after it. */
    private void verifyAmongWriters(long seed, int turns) throws Exception {
        Random random = new Random(seed);
        installation.execute(OLD, """
                INSERT INTO shop.users SELECT n, 'user ' || n FROM generate_series(1000, 1007) n;
                INSERT INTO shop.orders SELECT n, n, 'code ' || n, 'note' FROM generate_series(1000, 1007) n;
                INSERT INTO shop.item SELECT n, 1, 'item' FROM generate_series(1000, 1007) n;
                INSERT INTO shop.parcel SELECT n, 'code ' || n, 'parcel' FROM generate_series(1000, 1007) n;
                INSERT INTO shop.remark SELECT n, n, 1, 'remark' FROM generate_series(1000, 1007) n;
                INSERT INTO shop.scan SELECT n, n FROM generate_series(1000, 1007) n;
                """);
        try (DatabaseAdopter adopter = adopter(50, AdoptListener.NONE)) {
            adopter.run();
        }
        AtomicBoolean stop = new AtomicBoolean();
        Semaphore permits = new Semaphore(0);
        AtomicInteger written = new AtomicInteger();
        ExecutorService threads = Executors.newFixedThreadPool(2);
        List<Future<?>> writers = new ArrayList<>();
        for (int writer = 0; writer < 2; writer++) {
            Random its = new Random(random.nextLong());
            writers.add(threads.submit(() -> write(its, stop, permits, written)));
        }
        Map<String, Integer> looks = new TreeMap<>();
        for (int turn = 0; turn < turns; turn++) {
            List<Damage> planted = new ArrayList<>();
            for (String table : List.of("users", "orders", "item", "parcel", "remark", "scan")) {
                planted.addAll(damage(random, table));
            }
            for (Damage damage : planted) {
                installation.execute(damage.shard() / 4, damage.sql());
            }
            assertThat(verified(looks, permits))
                    .as("seed %s, turn %s", seed, turn)
                    .containsExactlyInAnyOrderElementsOf(
                            planted.stream().map(Damage::found).toList());
            for (Damage damage : planted) {
                installation.execute(damage.shard() / 4, damage.repair());
            }
            assertThat(verified(looks, permits))
                    .as("seed %s, turn %s, repaired", seed, turn)
                    .isEmpty();
        }
        stop.set(true);
        permits.release(100);
        for (Future<?> writer : writers) {
            writer.get();
        }
        threads.shutdown();
        System.out.printf("seed %s: %s transactions of writers, %s%n", seed, written, looks);
    }

    /** @param found as {@link #verified} says it */
    private record Damage(int shard, String sql, String repair, String found) {}

    private List<Damage> damage(Random random, String table) throws SQLException {
        int id = 1000 + random.nextInt(8);
        int shard = id % 8;
        int other = (shard + 1 + random.nextInt(7)) % 8;
        String key = table.equals("item")
                ? "(%s,1)".formatted(id)
                : table.equals("scan") ? "(%1$s,%1$s)".formatted(id) : "(%s)".formatted(id);
        String which = table.equals("item") ? "order_id = " + id : table.equals("scan") ? "at = " + id : "id = " + id;
        String text = table.equals("users")
                ? "name"
                : table.equals("orders") ? "note" : table.equals("scan") ? "user_id" : "text";
        String changed = table.equals("scan")
                ? "user_id # 8"
                : "overlay(%1$s placing chr(ascii(%1$s) # 1) from 1)".formatted(text);
        String here = Sharding.schema(shard) + "." + table;
        String there = Sharding.schema(other) + "." + table;
        String where = " WHERE " + which;
        String values = installation.query(shard / 4, "SELECT t::text FROM " + here + " t" + where);
        String insert = "INSERT INTO %s SELECT (%s::%s).*";
        Damage missing = new Damage(
                shard,
                "DELETE FROM " + here + where,
                insert.formatted(here, literal(values), here),
                table + " missing " + shard + " " + key);
        Damage extra = new Damage(
                other,
                insert.formatted(there, literal(values), there),
                "DELETE FROM " + there + where,
                table + " extra " + other + " " + key);
        Damage different = new Damage(
                shard,
                "UPDATE %s SET %s = %s%s".formatted(here, text, changed, where),
                "UPDATE %s SET %s = %s%s".formatted(here, text, changed, where),
                table + " different " + shard + " " + key);
        // Of users, a check of the shards keeps others out.
        return switch (table.equals("users") ? 2 * random.nextInt(2) : random.nextInt(5)) {
            case 0 -> List.of(missing);
            case 1 -> List.of(extra);
            case 2 -> List.of(different);
            case 3 -> List.of(missing, extra);
            default -> List.of();
        };
    }

    private static String literal(String text) {
        return "'" + text.replace("'", "''") + "'";
    }

    /** The rows that differ, each with its table, kind and shard. */
    private List<String> verified(Map<String, Integer> looks, Semaphore permits) {
        permits.release(300);
        List<String> found = new ArrayList<>();
        try (DatabaseAdopter adopter = adopter(1000, AdoptListener.NONE)) {
            for (TableComparison table : adopter.verify()) {
                looks.merge(table.undecided().isEmpty() ? "decided" : "undecided", 1, Integer::sum);
                assertThat(table.rows()).isPositive();
                table.differences().forEach((shard, its) -> {
                    its.missing().forEach(key -> found.add("%s missing %s %s".formatted(table.into(), shard, key)));
                    its.extra().forEach(key -> found.add("%s extra %s %s".formatted(table.into(), shard, key)));
                    its.different().forEach(key -> found.add("%s different %s %s".formatted(table.into(), shard, key)));
                });
            }
        }
        return found;
    }

    /** Writers go on while the engine runs, as fast as it does, loses sessions or all of them at some step, and runs again. */
    private void random(long seed, int turns) throws Exception {
        Random random = new Random(seed);
        // Begun, and little copied.
        Semaphore permits = new Semaphore(0);
        assertThat(run(10, random.nextBoolean(), 2, permits)).isFalse();
        AtomicBoolean stop = new AtomicBoolean();
        AtomicInteger written = new AtomicInteger();
        ExecutorService threads = Executors.newFixedThreadPool(4);
        List<Future<?>> writers = new ArrayList<>();
        for (int writer = 0; writer < 4; writer++) {
            Random its = new Random(random.nextLong());
            writers.add(threads.submit(() -> write(its, stop, permits, written)));
        }
        int failed = 0;
        for (int turn = 0; turn < turns; turn++) {
            int step = turn == turns - 1 ? Integer.MAX_VALUE : random.nextInt(1, 40);
            failed += run(random.nextInt(10, 100), random.nextBoolean(), step, permits) ? 0 : 1;
        }
        stop.set(true);
        permits.release(100);
        for (Future<?> writer : writers) {
            writer.get();
        }
        threads.shutdown();
        deleteOrphans(installation);
        try (DatabaseAdopter adopter = adopter(1000, AdoptListener.NONE)) {
            adopter.finish();
        }
        assertThat(found()).as("seed %s", seed).isEqualTo(wanted());
        assertThat(written.get()).isPositive();
        System.out.printf("seed %s: %s transactions, %s of %s runs failed%n", seed, written, failed, turns);
    }

    /** Deletes the old rows that belong to no shard, since what they refer to is gone. */
    static void deleteOrphans(CliInstallation installation) throws SQLException {
        installation.execute(OLD, """
                DELETE FROM shop.remark r WHERE NOT EXISTS (SELECT FROM shop.item i WHERE i.order_id = r.order_id AND i.line = r.line);
                DELETE FROM shop.scan s WHERE NOT EXISTS (SELECT FROM shop.parcel p WHERE p.id = s.parcel_id)
                """);
    }

    /** Runs the engine and kills sessions at some step; returns whether it ended well. */
    private boolean run(int batch, boolean all, int step, Semaphore permits) {
        AtomicInteger steps = new AtomicInteger(step);
        AdoptListener killer = new AdoptListener() {
            @Override
            public void copied(long rows, long estimate) {
                step();
            }

            @Override
            public void followed(long changes) {
                step();
            }

            private void step() {
                permits.release(6);
                if (steps.decrementAndGet() == 0) {
                    kill(all);
                }
            }
        };
        try (DatabaseAdopter adopter = adopter(batch, killer)) {
            adopter.run();
            return true;
        } catch (AdoptRefusedException e) {
            throw e;
        } catch (ShardflakeException e) {
            return false;
        }
    }

    /** Ends the engine's sessions: on one server, or on all as when its process is killed. */
    private void kill(boolean all) {
        for (int server = all ? 0 : OLD; server <= OLD; server++) {
            try {
                installation.execute(
                        server,
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'shardflake adopt' AND datname = current_database()");
            } catch (SQLException e) {
                throw new AssertionError(e);
            }
        }
    }

    private void write(Random random, AtomicBoolean stop, Semaphore permits, AtomicInteger written) {
        TestDatabase database = postgres.database(OLD);
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            while (!stop.get()) {
                permits.acquireUninterruptibly();
                connection.setAutoCommit(false);
                connection.setTransactionIsolation(
                        random.nextBoolean()
                                ? Connection.TRANSACTION_READ_COMMITTED
                                : Connection.TRANSACTION_REPEATABLE_READ);
                try {
                    for (int i = random.nextInt(3); i >= 0; i--) {
                        statement.execute(change(random));
                    }
                    connection.commit();
                    written.incrementAndGet();
                } catch (SQLException e) {
                    connection.rollback();
                    // Foreign and unique keys, deadlocks, transactions that cannot be serialized.
                    if (!Set.of("23", "40")
                            .contains(String.valueOf(e.getSQLState()).substring(0, 2))) {
                        throw e;
                    }
                }
            }
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** A random change of the old tables. */
    static String change(Random random) {
        int user = random.nextInt(1, 60);
        int order = random.nextInt(1, 130);
        int line = random.nextInt(5);
        int parcel = random.nextInt(1, 180);
        int other = random.nextInt(1, 130);
        return switch (random.nextInt(20)) {
            case 0 -> "INSERT INTO shop.users VALUES (%s, 'new') ON CONFLICT DO NOTHING".formatted(user);
            case 1 -> "UPDATE shop.users SET id = %s WHERE id = %s".formatted(random.nextInt(1, 60), user);
            case 2 -> random.nextInt(4) > 0 ? "SELECT 1" : "DELETE FROM shop.users WHERE id = " + user;
            case 3, 4 ->
                "INSERT INTO shop.orders VALUES (%1$s, %2$s, 'code %1$s') ON CONFLICT DO NOTHING"
                        .formatted(order, user);
            case 5, 6 -> "UPDATE shop.orders SET user_id = %s WHERE id = %s".formatted(user, order);
            case 7 -> "UPDATE shop.orders SET id = %s WHERE id = %s".formatted(other, order);
            case 8 -> "UPDATE shop.orders SET code = 'code %s', note = 'n' WHERE id = %s".formatted(other, order);
            case 9 -> "DELETE FROM shop.orders WHERE id = " + order;
            case 10, 11 ->
                "INSERT INTO shop.item VALUES (%s, %s, 'new') ON CONFLICT (order_id, line) DO UPDATE SET text = 'again'"
                        .formatted(order, line);
            case 12 ->
                "UPDATE shop.item SET order_id = %s WHERE order_id = %s AND line = %s".formatted(other, order, line);
            case 13 -> "DELETE FROM shop.item WHERE order_id = %s AND line = %s".formatted(order, line);
            case 14 ->
                "INSERT INTO shop.parcel VALUES (%s, 'code %s') ON CONFLICT (id) DO UPDATE SET code = excluded.code"
                        .formatted(parcel, order);
            case 15 -> "DELETE FROM shop.parcel WHERE id = " + parcel;
            case 16 ->
                "INSERT INTO shop.remark VALUES (%s, %s, %s) ON CONFLICT (id) DO UPDATE SET order_id = excluded.order_id, line = excluded.line"
                        .formatted(parcel, order, line);
            case 17 -> "DELETE FROM shop.remark WHERE id = " + parcel;
            case 18 -> "INSERT INTO shop.scan VALUES (%s, %s) ON CONFLICT DO NOTHING".formatted(parcel, other);
            // The parcels of the order see it gone and here again, with another key.
            default -> """
                DELETE FROM shop.orders WHERE id = %1$s;
                INSERT INTO shop.orders VALUES (%1$s, %2$s, 'code %1$s') ON CONFLICT DO NOTHING
                """.formatted(order, user);
        };
    }
}
