/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.Mover;
import org.shardflake.router.ShardRouter;

/** Reference tables while servers crash, commands are killed and shards move: equal copies, no orphans, no lost write. */
@Tag("full")
class ReferenceCrashIT {

    private static final int SERVERS = 4;
    private static final int SHARDS = 12;
    private static final int COUNTRIES = 6;
    private static final int ROUNDS = 12;
    private static final int LAGS = 100;

    /** How long a writer rests after each row, which leaves CPU time to the moves and the deletions. */
    private static final int PAUSE_MILLIS = 5;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(SERVERS);

    @TempDir
    static Path directory;

    private static ReferenceFixture fixture;

    private final Random random = new Random(40);
    private final Set<Long> confirmed = ConcurrentHashMap.newKeySet();
    private final LongAdder referring = new LongAdder();
    /** The country that the next deletion is about: few rows refer to it. */
    private volatile String free = "Q0";

    private volatile boolean stopped;

    @BeforeAll
    static void create() throws Exception {
        fixture = new ReferenceFixture(postgres, directory);
        fixture.createWithCountries(SERVERS);
        fixture.deploy(
                "",
                "--changeset ann:seen\nCREATE TABLE seen (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text NOT NULL);\n");
    }

    @AfterAll
    static void dropStreams() throws SQLException {
        fixture.dropStreams(SERVERS);
    }

    @Test
    void copiesStayEqualThroughDeathsAndMoves() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try (ShardRouter router =
                ShardRouter.builder().catalog(postgres.database(0).uri()).build()) {
            List<Future<?>> load = List.of(
                    threads.submit(() -> writeReferenceRows(router)),
                    threads.submit(() -> writeReferenceRows(router)),
                    threads.submit(() -> writeReferringRows(router)),
                    threads.submit(() -> writeReferringRows(router)));
            for (int round = 0; round < ROUNDS; round++) {
                free = "Q" + round % COUNTRIES;
                addCountries(router);
                happen(round);
                finish();
            }
            assertThat(router.reference().awaitEverywhere(Duration.ofSeconds(60)))
                    .isTrue();
            stopped = true;
            for (Future<?> writer : load) {
                writer.get(60, TimeUnit.SECONDS);
            }
            check();
            measureLag(router);
        } finally {
            stopped = true;
            threads.shutdownNow();
        }
    }

    private Void writeReferenceRows(ShardRouter router) throws InterruptedException {
        while (!stopped) {
            try {
                confirmed.add(insert(router));
                TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
            } catch (SQLException | ShardflakeException e) {
                TimeUnit.MILLISECONDS.sleep(20); // A server is down, or the outcome is not known.
            }
        }
        return null;
    }

    private static long insert(ShardRouter router) throws SQLException {
        return router.reference()
                .<Long, SQLException>write(connection ->
                        Sql.number(connection, "INSERT INTO reference.seen (what) VALUES ('x') RETURNING id"));
    }

    /** Few rows in each shard, so that countries become free. */
    private Void writeReferringRows(ShardRouter router) throws InterruptedException {
        while (!stopped) {
            long uid = ThreadLocalRandom.current().nextLong(1000);
            String country = country();
            try {
                router.run(
                        uid,
                        tx -> Sql.execute(
                                tx.connection(),
                                tx.sql(
                                        "DELETE FROM ${shard.schema}.customer WHERE id IN (SELECT id FROM ${shard.schema}.customer ORDER BY id LIMIT 1); INSERT INTO ${shard.schema}.customer (uid, country) VALUES (%s, '%s')"
                                                .formatted(uid, country))));
                referring.increment();
                TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
            } catch (SQLException | ShardflakeException e) {
                TimeUnit.MILLISECONDS.sleep(5); // There is no such country now, or a server is down.
            }
        }
        return null;
    }

    private String country() {
        String country = "Q" + ThreadLocalRandom.current().nextInt(COUNTRIES);
        boolean isRare = ThreadLocalRandom.current().nextInt(20) == 0;
        return country.equals(free) && !isRare ? "DE" : country;
    }

    private String server() {
        return "db" + (1 + random.nextInt(SERVERS));
    }

    private static void addCountries(ShardRouter router) throws InterruptedException {
        for (int i = 0; i < COUNTRIES; i++) {
            String sql =
                    "INSERT INTO reference.country VALUES ('Q%1$s', 'Land %1$s') ON CONFLICT (code) DO UPDATE SET name = excluded.name"
                            .formatted(i);
            try {
                router.reference().<Boolean, SQLException>write(connection -> {
                    Sql.execute(connection, sql);
                    return true;
                });
            } catch (SQLException | ShardflakeException e) {
                TimeUnit.MILLISECONDS.sleep(20); // Without it then.
            }
        }
    }

    private void happen(int round) throws Exception {
        switch (round % 6) {
            case 0 -> killTool("move", server());
            case 1 -> killTool("delete", free);
            case 2 -> crash(postgres.database(random.nextInt(SERVERS)).server());
            case 3 -> tryTo(() -> fixture.tables().move(server()));
            case 4 -> tryTo(() -> fixture.tables().delete("country", List.of(free)));
            default -> moveAShard();
        }
    }

    private static void crash(PostgresServer server) {
        server.crash();
        server.start();
    }

    private void killTool(String command, String argument) throws Exception {
        List<String> line = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                ReferenceProcess.class.getName(),
                postgres.database(0).uri(),
                command,
                argument));
        for (int i = 0; i < SERVERS; i++) {
            line.addAll(List.of("db" + (i + 1), postgres.database(i).uri()));
        }
        Process process = new ProcessBuilder(line)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        assertThat(process.inputReader().readLine()).isEqualTo("begun");
        boolean ended = false;
        while (!ended && !isUnderWay()) {
            ended = process.waitFor(2, TimeUnit.MILLISECONDS);
        }
        ended |= process.waitFor(random.nextInt(command.equals("move") ? 400 : 60), TimeUnit.MILLISECONDS);
        process.destroyForcibly();
        assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
        System.out.printf("%s %s %s%n", command, argument, ended ? "had ended" : "was killed");
    }

    private static boolean isUnderWay() throws SQLException {
        return fixture.list(
                        "db1",
                        "SELECT EXISTS (SELECT FROM shardflake_catalog.reference_delete) OR next_home IS NOT NULL OR old_home IS NOT NULL FROM shardflake_catalog.reference")
                .equals(List.of("t"));
    }

    private interface Command {
        void run() throws Exception;
    }

    /** A row may be referred to, for example. */
    private static void tryTo(Command command) throws Exception {
        try {
            command.run();
        } catch (ShardflakeException e) {
            System.out.printf("refused: %s%n", e.getMessage());
        }
    }

    private void moveAShard() {
        ShardMap map = ShardCatalog.at(fixture.catalog()).load();
        int shard = random.nextInt(SHARDS);
        String source = map.server(shard).name();
        int next = Integer.parseInt(source.substring(2)) + random.nextInt(SERVERS - 1);
        Mover mover = fixture.mover();
        mover.carryOut(mover.beginOrResume(source, "db" + (1 + next % SERVERS), ShardSet.of(shard), "a test"), false);
    }

    /** Runs again what was interrupted, as status says. */
    private static void finish() throws Exception {
        for (CliCommand command : fixture.tables().status().unfinished()) {
            List<String> words = command.words();
            System.out.printf("again: %s%n", command);
            if (words.contains("move")) {
                fixture.tables().move(words.get(words.size() - 1));
            } else {
                tryTo(() -> fixture.tables().delete(words.get(2), words.subList(3, words.size())));
            }
        }
    }

    private void check() throws Exception {
        ReferenceStatus status = fixture.tables().status();
        assertThat(status.unfinished()).isEmpty();
        for (String table : status.tables()) {
            assertThat(new HashSet<>(fixture.contents(status.home(), SERVERS, table)))
                    .as(table)
                    .hasSize(1);
        }
        assertThat(new HashSet<>(fixture.list("db3", "SELECT id FROM reference.seen")))
                .containsAll(confirmed.stream().map(String::valueOf).toList());
        ShardMap map = ShardCatalog.at(fixture.catalog()).load();
        for (int shard = 0; shard < SHARDS; shard++) {
            assertThat(fixture.list(
                            map.server(shard).name(),
                            String.format(
                                    Locale.ROOT,
                                    "SELECT country FROM shard_%04d.customer WHERE country NOT IN (SELECT code FROM reference.country)",
                                    shard)))
                    .as("orphans in shard %s", shard)
                    .isEmpty();
        }
        System.out.printf(
                "%,d rows of reference tables confirmed, %,d rows that refer to them%n",
                confirmed.size(), referring.sum());
    }

    /** How long a row takes to be on all servers, one after the other. */
    private static void measureLag(ShardRouter router) throws SQLException {
        List<Long> micros = new ArrayList<>();
        for (int i = 0; i < LAGS; i++) {
            insert(router);
            long start = System.nanoTime();
            assertThat(router.reference().awaitEverywhere(Duration.ofSeconds(60)))
                    .isTrue();
            micros.add((System.nanoTime() - start) / 1000);
        }
        micros.sort(null);
        System.out.printf(
                "lag until the last of %s servers had it, of %s writes: p50 %,d us, p99 %,d us, max %,d us%n",
                SERVERS - 1, LAGS, micros.get(LAGS / 2), micros.get(LAGS * 99 / 100), micros.get(LAGS - 1));
    }
}
