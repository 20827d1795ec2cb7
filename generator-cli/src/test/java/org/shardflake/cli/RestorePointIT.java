/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresBackup;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;

/** All servers and the catalog are restored to a point that was made under load, and to nothing else. */
@Tag("full")
class RestorePointIT {

    private static final int SHARDS = 8;

    private static final String CHANGELOG = """
            --liquibase formatted sql
            --changeset ann:note
            CREATE TABLE note (id bigint PRIMARY KEY, uid bigint NOT NULL, text text);
            """;

    /** The move that a finding says to cancel, and how. */
    private static final Pattern CANCEL = Pattern.compile("shardflake move cancel (\\d+)( --keep-moved)?");

    /** A row that only a copy has. */
    private static final Pattern EXTRA = Pattern.compile("\\((\\d{15,})\\)");

    @TempDir
    Path directory;

    private final List<PostgresBackup> backups = new ArrayList<>();

    @SuppressWarnings("NullAway.Init") // by start
    private PostgresCluster cluster;

    @SuppressWarnings("NullAway.Init") // by start
    private PostgresServer catalog;

    @SuppressWarnings("NullAway.Init") // by start
    private List<PostgresServer> servers;

    @AfterEach
    void stop() {
        cluster.close();
    }

    /** Backed up with all shards and no rows. */
    private void start(int count, boolean catalogApart) throws IOException {
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(count + (catalogApart ? 1 : 0))
                .setting("wal_retrieve_retry_interval", "100ms")
                .archiving()
                .start();
        servers = cluster.servers().subList(0, count);
        catalog = cluster.server(catalogApart ? count : 0);
        List<String> init = new ArrayList<>(List.of("init", "--shards=" + SHARDS));
        servers.forEach(server -> init.add("--server=" + server.name() + "=" + server.uri("postgres")));
        succeed(init.toArray(String[]::new));
        Path changelog = Files.writeString(directory.resolve("notes.sql"), CHANGELOG);
        succeed("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory);
        cluster.servers().forEach(server -> backups.add(cluster.backUp(server)));
    }

    private Result launch(String... args) {
        return Cli.launch(InputStream.nullInputStream(), Map.of("SHARDFLAKE_CATALOG", catalog.uri("postgres")), args);
    }

    private Result succeed(String... args) {
        Result result = launch(args);
        assertThat(result.exitCode()).as("%s: %s", List.of(args), result).isZero();
        return result;
    }

    private void restoreAll(String point) throws SQLException {
        for (PostgresBackup backup : backups) {
            backup.restore(point);
        }
    }

    private ShardRouter router() {
        return ShardRouter.builder().catalog(catalog.uri("postgres")).build();
    }

    private static long insert(ShardRouter router, long uid) throws SQLException {
        return router.write(uid, tx -> {
            try (PreparedStatement insert = tx.connection()
                    .prepareStatement(tx.sql("INSERT INTO ${shard.schema}.note (uid) VALUES (?) RETURNING id"))) {
                insert.setLong(1, uid);
                try (ResultSet row = insert.executeQuery()) {
                    row.next();
                    return row.getLong(1);
                }
            }
        });
    }

    /** The rows of each shard where the map has it; no other server may take writes to it. */
    private Map<Integer, Set<Long>> rows() throws SQLException {
        ShardMap map = ShardCatalog.at(ServerUrl.parse(catalog.uri("postgres"))).load();
        Map<Integer, Set<Long>> rows = new HashMap<>();
        for (int shard = 0; shard < SHARDS; shard++) {
            Set<Long> ids = rows.computeIfAbsent(shard, unused -> new TreeSet<>());
            try (Connection connection =
                            ServerUrl.parse(map.server(shard).url()).connect("a test");
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("SELECT id FROM " + Sharding.schema(shard) + ".note")) {
                while (row.next()) {
                    ids.add(row.getLong(1));
                }
            }
        }
        return rows;
    }

    /** Clients that insert rows, of which half pause when told to. */
    private final class Load implements AutoCloseable {

        private final ShardRouter router = router();
        private final ExecutorService threads = Executors.newCachedThreadPool();
        private final ReadWriteLock pause = new ReentrantReadWriteLock(true);
        private final Set<Long> acknowledged = ConcurrentHashMap.newKeySet();
        private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
        private volatile boolean stopped;

        Load(int clients) {
            for (int client = 0; client < clients; client++) {
                boolean pauses = client % 2 == 0;
                int first = client;
                threads.execute(() -> run(first, pauses));
            }
        }

        private void run(int first, boolean pauses) {
            for (long uid = first; !stopped; uid += 3) {
                if (pauses) {
                    pause.readLock().lock();
                }
                try {
                    acknowledged.add(insert(router, uid));
                } catch (Throwable e) {
                    failures.add(e);
                } finally {
                    if (pauses) {
                        pause.readLock().unlock();
                    }
                }
            }
        }

        void awaitMore(int more) throws InterruptedException {
            int enough = acknowledged.size() + more;
            long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
            while (acknowledged.size() < enough) {
                assertThat(System.nanoTime())
                        .as("no %s rows in two minutes: %s", more, failures.peek())
                        .isLessThan(deadline);
                Thread.sleep(5);
            }
        }

        @Override
        public void close() throws InterruptedException {
            stopped = true;
            threads.shutdown();
            assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
            router.close();
        }
    }

    private record Before(Set<Long> rows, Set<Long> all) {}

    /** Makes the point while half of the clients pause; then everybody writes more, and shards move. */
    private Before makePoint(String name, Load load, String... moveAfter) throws InterruptedException {
        load.awaitMore(300);
        Set<Long> before;
        load.pause.writeLock().lock();
        try {
            before = Set.copyOf(load.acknowledged);
            succeed("restore-point", name, "--patience=2m");
        } finally {
            load.pause.writeLock().unlock();
        }
        load.awaitMore(300);
        succeed(moveAfter);
        load.awaitMore(100);
        return new Before(before, load.acknowledged);
    }

    /** The rows of before are there, none that nobody wrote, and new ids repeat none of any time. */
    private void assertRestored(Before before) throws SQLException {
        Map<Integer, Set<Long>> rows = rows();
        Set<Long> restored = new TreeSet<>();
        rows.values().forEach(restored::addAll);
        Set<Long> lost = new TreeSet<>(before.rows());
        lost.removeAll(restored);
        assertThat(lost).as("rows that were acknowledged before the point").isEmpty();
        assertThat(restored).hasSizeLessThan(before.all().size());
        try (ShardRouter router = router()) {
            for (int uid = 0; uid < 20 * SHARDS; uid++) {
                long id = insert(router, uid);
                assertThat(before.all()).doesNotContain(id);
                assertThat(restored.add(id)).as("id %s is new", id).isTrue();
            }
        }
    }

    @Test
    void allServersAreRestoredToThePoint() throws Exception {
        start(2, false);
        Before before;
        try (Load load = new Load(4)) {
            succeed("move", "run", "--shards=1", "--to=db2");
            before = makePoint("before-release", load, "move", "run", "--shards=0,2", "--to=db2");
            assertThat(load.failures).isEmpty();
        }

        Result early = launch("restore-point", "check", "before-release");
        assertThat(early.exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(early.out())
                .contains("is on timeline 1, and the point on 1")
                .contains("places shards otherwise than at the point");

        restoreAll("before-release");
        assertThat(succeed("restore-point", "check", "before-release").out())
                .isEqualTo("every server and the catalog are at restore point before-release: nothing differs\n");
        assertThat(succeed("doctor").out()).isEqualTo("2 servers with 8 shards: nothing found\n");
        assertThat(succeed("restore-point", "list").out()).containsPattern("before-release .* complete\n");
        assertRestored(before);
    }

    @Test
    void aServerThatWasRestoredToAnotherMomentIsNamed() throws Exception {
        start(2, true);
        try (ShardRouter router = router()) {
            insert(router, 1);
            succeed("restore-point", "first");
            insert(router, 1);
            succeed("restore-point", "second");
            insert(router, 1);
            succeed("restore-point", "third");
        }
        backups.get(0).restore("first");
        backups.get(1).restore("third");
        backups.get(2).restore("second");

        Result check = launch("restore-point", "check", "second");
        assertThat(check.exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(check.out())
                .containsPattern(
                        "problem +db1 +restored-to +was restored to [0-9A-F/]+, before the point at [0-9A-F/]+\n")
                .containsPattern(
                        "problem +db2 +restored-to +was restored to [0-9A-F/]+, after the point at [0-9A-F/]+\n")
                .contains("restored-to of db1: restore it again, with recovery_target_name = 'second'")
                .doesNotContain("problem   catalog");
    }

    /** A move that follows has lost its slots, and is the one thing that is left to do. */
    @Test
    void aMoveThatWasUnderWayAtThePointIsCancelledAfterTheRestore() throws Exception {
        start(2, false);
        Before before;
        try (Load load = new Load(2)) {
            succeed("move", "start", "--shards=0-1", "--to=db2");
            succeed("move", "cutover", "--shards=1");
            before = makePoint("midway", load, "move", "cutover");
            assertThat(load.failures).isEmpty();
        }
        restoreAll("midway");
        checkAndCancel("midway", before, 1);
        assertRestored(before);
    }

    @Test
    void fourServersUnderLoadAndMoves() throws Exception {
        start(3, true);
        Before before;
        try (Load load = new Load(8);
                Moves moves = new Moves()) {
            before = makePoint("busy", load, "restore-point", "later", "--patience=2m");
            moves.stop();
            assertThat(load.failures).isEmpty();
        }
        restoreAll("busy");
        checkAndCancel("busy", before, 3);
        assertRestored(before);
    }

    /** Does what the check says of moves, and nothing else; then nothing is left. */
    private void checkAndCancel(String point, Before before, int moves) {
        Result check = launch("restore-point", "check", point);
        for (int i = 0; i < moves && check.exitCode() != 0; i++) {
            assertThat(check.exitCode()).as(check.toString()).isEqualTo(ExitCodes.VERIFICATION);
            Matcher cancel = CANCEL.matcher(check.out());
            assertThat(cancel.find()).as(check.toString()).isTrue();
            cancel(cancel.group(1), cancel.group(2) != null, before);
            check = launch("restore-point", "check", point);
        }
        assertThat(check.exitCode()).as(check.toString()).isZero();
        assertThat(succeed("doctor").out()).endsWith(": nothing found\n");
    }

    /**
     * A copy may have rows that its shard got right after the point: the shard's own server decides. Without such rows, the copy that
     * the shard left behind still cannot be compared to the end, since nothing follows any more.
     */
    private void cancel(String move, boolean keepMoved, Before before) {
        List<String> command = new ArrayList<>(List.of("move", "cancel", move, "--yes"));
        if (keepMoved) {
            command.add("--keep-moved");
        }
        Result cancel = launch(command.toArray(String[]::new));
        if (cancel.exitCode() == ExitCodes.VERIFICATION) {
            Set<Long> extra = new TreeSet<>();
            EXTRA.matcher(cancel.err()).results().forEach(id -> extra.add(Long.valueOf(id.group(1))));
            assertThat(extra).as(cancel.toString()).isNotEmpty().doesNotContainAnyElementsOf(before.rows());
            command.add("--uncompared");
            succeed(command.toArray(String[]::new));
        } else if (cancel.exitCode() == ExitCodes.FAILURE) {
            assertThat(cancel.err())
                    .contains("could not be compared, and are kept")
                    .contains("--keep-moved --uncompared");
            command.add("--uncompared");
            succeed(command.toArray(String[]::new));
        } else {
            assertThat(cancel.exitCode()).as(cancel.toString()).isZero();
        }
    }

    /** Moves two shards around, all the time. */
    private final class Moves implements AutoCloseable {

        private final ExecutorService thread = Executors.newSingleThreadExecutor();
        private final Future<?> running = thread.submit(this::run);
        private volatile boolean stopped;

        private void run() {
            for (int i = 1; !stopped; i++) {
                succeed("move", "run", "--shards=0,7", "--to=db" + (1 + i % 3));
            }
        }

        void stop() throws Exception {
            stopped = true;
            running.get(6, TimeUnit.MINUTES);
        }

        @Override
        public void close() {
            stopped = true;
            thread.shutdown();
        }
    }
}
