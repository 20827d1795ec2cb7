/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.changes.ChangeStream;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresStandby;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.install.Installation;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.SplitRequest;
import org.shardflake.move.server.MoveServer;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;
import org.shardflake.split.SplitListener;
import org.shardflake.split.Splitter;
import org.shardflake.sql.CatalogSchema;
import org.shardflake.sql.FunctionLibrary;

/** A server is split by its standby while its changes are read: each is read once, in order, though the standby has the log of its primary. */
@Tag("full")
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class ReaderSplitIT {

    private static final int SHARDS = 8;
    private static final ShardSet MOVING = ShardSet.parse("1,4-6");
    private static final String DATABASE = "notes";
    private static final String NAME = "sink";

    @TempDir
    Path directory;

    @SuppressWarnings("NullAway.Init") // by the test
    private PostgresCluster cluster;

    @SuppressWarnings("NullAway.Init") // by the test
    private TestDatabase home;

    @SuppressWarnings("NullAway.Init") // by the test
    private PostgresStandby standby;

    @SuppressWarnings("NullAway.Init") // by the test
    private ServerUrl catalog;

    private final long seed = Long.getLong("cdc.seed", System.nanoTime());
    private final AtomicInteger written = new AtomicInteger();
    private final AtomicInteger applied = new AtomicInteger();
    private volatile boolean stopped;
    private int readers;

    /** The rows by shard and id, as of the positions that were stored with them. */
    private Map<String, String> rows = new HashMap<>();

    private final Map<Integer, EventId> latest = new HashMap<>();

    @Test
    void eachChangeIsReadOnceThroughASplit() throws Exception {
        System.out.printf("-Dcdc.seed=%s%n", seed);
        try (PostgresCluster started = PostgresCluster.builder()
                .servers(2)
                .setting("wal_retrieve_retry_interval", "200ms")
                .start()) {
            cluster = started;
            install();
            ExecutorService threads = Executors.newCachedThreadPool();
            try (ShardRouter router = ShardRouter.builder()
                    .catalog(catalog.toString())
                    .credentials(home.user(), home.password())
                    .build()) {
                run(router, threads);
            } finally {
                stopped = true;
                threads.shutdownNow();
            }
            compare();
        }
        System.out.printf("%s writes, %s rows, %s readers%n", written, rows.size(), readers);
    }

    private void run(ShardRouter router, ExecutorService threads) throws Exception {
        Random random = new Random(seed);
        List<Future<?>> writers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            long its = random.nextLong();
            writers.add(threads.submit(() -> write(router, new Random(its))));
        }
        await(300, writers);
        String positions;
        try (ChangeReader reader = ChangeReader.beginWithSnapshot(catalog, this::url, NAME)) {
            positions = reader.positions();
        }
        Future<?> reading = threads.submit(() -> read(random, positions));
        await(300, writers, reading);

        standby = cluster.standbyOf(cluster.server(0));
        standby.awaitReplay();
        split(reading);
        await(300, writers, reading);
        Mover mover = new Mover(catalog, this::server, MoveSettings.DEFAULT, MoveListener.NONE);
        repeat(
                () -> mover.carryOut(
                        mover.findOpen("db2", "db1", ShardSet.of(4, 5))
                                .orElseGet(() -> mover.record("db2", "db1", ShardSet.of(4, 5), "a test")),
                        false),
                reading);
        await(300, writers, reading);

        stopped = true;
        for (Future<?> writer : writers) {
            writer.get(1, TimeUnit.MINUTES);
        }
        for (long shard = 0; shard < SHARDS; shard++) {
            execute(router, shard, "INSERT INTO ${shard.schema}.note (uid, text) VALUES (%s, 'end')".formatted(shard));
        }
        reading.get(5, TimeUnit.MINUTES);
    }

    private void split(Future<?> reading) throws Exception {
        Splitter splitter = new Splitter(catalog, this::server, MoveSettings.DEFAULT, SplitListener.NONE);
        String url = standby.uri(DATABASE);
        long id = splitter.promote(
                new SplitRequest("db1", new Server("db2", url), ServerUrl.parse(url), MOVING, "a test"));
        Mover mover = new Mover(catalog, this::server, MoveSettings.DEFAULT, MoveListener.NONE);
        repeat(() -> mover.carryOut(mover.move(id), false), reading); // Until the reader has its slot there.
        splitter.finish(id);
    }

    private static void repeat(Runnable step, Future<?> reading) throws Exception {
        for (int attempt = 1; ; attempt++) {
            if (reading.isDone()) {
                reading.get();
            }
            try {
                step.run();
                return;
            } catch (ShardflakeException e) {
                if (attempt == 100 || !String.valueOf(e.getMessage()).contains("change-stream")) {
                    throw e;
                }
                TimeUnit.MILLISECONDS.sleep(100);
            }
        }
    }

    /** Waits until so many more transactions were written. */
    private void await(int more, List<Future<?>> writers, Future<?>... others) throws Exception {
        int enough = written.get() + more;
        List<Future<?>> all = new ArrayList<>(writers);
        all.addAll(List.of(others));
        while (written.get() < enough) {
            for (Future<?> future : all) {
                if (future.isDone()) {
                    future.get();
                    throw new AssertionError("a thread ended early");
                }
            }
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }

    private ServerUrl url(Server server) {
        return server(server.name()).url();
    }

    private MoveServer server(String name) {
        return new MoveServer(name, ServerUrl.parse(name.equals("db1") ? home.uri() : standby.uri(DATABASE)));
    }

    private void install() throws Exception {
        try (Connection connection = cluster.server(0).connect("postgres");
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE DATABASE " + DATABASE);
        }
        home = TestDatabase.existing(cluster.server(0), DATABASE);
        catalog = ServerUrl.parse(cluster.server(1).uri("postgres"));
        try (Connection connection = catalog.connect("a test")) {
            CatalogSchema.deploy(connection);
        }
        try (Connection connection = home.connect()) {
            FunctionLibrary.deploy(connection);
        }
        Server db1 = new Server("db1", ServerUrl.parse(home.uri()).withoutPassword());
        ShardCatalog.at(catalog)
                .initialize(
                        ShardMap.initial(new Sharding(SHARDS), IdLayout.DEFAULT, List.of(db1), Spread.CONTIGUOUS),
                        "a test");
        Path changelog = Files.writeString(directory.resolve("notes.sql"), """
                --liquibase formatted sql
                --changeset ann:note
                CREATE TABLE note (id bigint PRIMARY KEY, uid bigint NOT NULL, text text NOT NULL, version bigint NOT NULL DEFAULT 0);
                """);
        new Installation(catalog, this::url).deploy(changelog, DeploySettings.defaults(directory), done -> {});
        new ChangeStream(catalog, this::url, voice -> {}).create();
    }

    private boolean write(ShardRouter router, Random random) throws Exception {
        List<Map.Entry<Long, Long>> own = new ArrayList<>();
        while (!stopped) {
            if (written.get() - applied.get() > 500) { // The reader is not to be left with more when they end.
                TimeUnit.MILLISECONDS.sleep(1);
                continue;
            }
            int what = random.nextInt(4);
            if (what == 0 || own.size() < 5) {
                long uid = random.nextInt(SHARDS);
                long id = router.write(uid, tx -> {
                    try (Statement statement = tx.connection().createStatement();
                            ResultSet row = statement.executeQuery(
                                    tx.sql("INSERT INTO ${shard.schema}.note (uid, text) SELECT %s, 'new' RETURNING id"
                                            .formatted(uid)))) {
                        row.next();
                        return row.getLong(1);
                    }
                });
                own.add(Map.entry(uid, id));
            } else {
                int which = random.nextInt(own.size());
                Map.Entry<Long, Long> note = what == 1 ? own.remove(which) : own.get(which);
                String sql = what == 1
                        ? "DELETE FROM ${shard.schema}.note WHERE id = %s"
                        : "UPDATE ${shard.schema}.note SET version = version + 1 WHERE id = %1$s; INSERT INTO ${shard.schema}.note (uid, text) VALUES (%2$s, 'of %1$s')";
                execute(router, note.getKey(), sql.formatted(note.getValue(), note.getKey()));
            }
            written.incrementAndGet();
        }
        return true;
    }

    private static void execute(ShardRouter router, long uid, String sql) throws SQLException {
        router.run(uid, tx -> {
            try (Statement statement = tx.connection().createStatement()) {
                statement.execute(tx.sql(sql));
            }
        });
    }

    /** Reads until the last row of each shard has come. Now and then it begins again from what was stored, in the middle of a transaction, too. */
    private boolean read(Random random, String begin) {
        String stored = begin;
        Map<String, String> pending = new HashMap<>();
        while (ends(rows) < SHARDS) {
            pending = new HashMap<>(rows);
            Map<Integer, EventId> before = new HashMap<>(latest);
            readers++;
            try (ChangeReader reader = ChangeReader.open(catalog, this::url, NAME, stored)) {
                for (int left = 1 + random.nextInt(1500); left > 0 && ends(rows) < SHARDS; left--) {
                    Optional<Change> next = reader.poll(Duration.ofMillis(200));
                    if (next.isPresent()) {
                        apply(next.get(), pending);
                        applied.addAndGet(next.get().isLast() ? 1 : 0);
                    } else if (reader.waiting().isEmpty()) {
                        applied.set(written.get()); // Some were in snapshots.
                    }
                    if (next.isEmpty() || next.get().row().containsValue("end") || random.nextInt(20) == 0) {
                        stored = reader.positions();
                        reader.confirm(stored);
                        rows = new HashMap<>(pending);
                        before = new HashMap<>(latest);
                    }
                }
            }
            latest.clear();
            latest.putAll(before);
        }
        return true;
    }

    private static long ends(Map<String, String> rows) {
        return rows.values().stream().filter(row -> row.contains(" end ")).count();
    }

    private void apply(Change change, Map<String, String> into) {
        int shard = change.id().shard();
        EventId previous = latest.put(shard, change.id());
        if (change.kind() == Change.Kind.SNAPSHOT) {
            into.keySet().removeIf(key -> key.startsWith(shard + " "));
            return;
        }
        assertThat(previous == null || previous.compareTo(change.id()) < 0)
                .as("%s after %s", change, previous)
                .isTrue();
        String key = "%s %s"
                .formatted(
                        shard,
                        change.kind() == Change.Kind.DELETE
                                ? change.key().get("id")
                                : change.row().get("id"));
        String row = "%s %s %s"
                .formatted(
                        change.row().get("uid"),
                        change.row().get("text"),
                        change.row().get("version"));
        switch (change.kind()) {
            case INSERT, ROW ->
                assertThat(into.put(key, row)).as(change.toString()).isNull();
            case UPDATE -> assertThat(into.put(key, row)).as(change.toString()).isNotNull();
            case DELETE -> assertThat(into.remove(key)).as(change.toString()).isNotNull();
            case TRUNCATE, SNAPSHOT -> throw new AssertionError(change);
        }
    }

    private void compare() throws SQLException {
        Map<String, String> expected = new TreeMap<>();
        Set<String> servers = new HashSet<>();
        ShardMap map = ShardCatalog.at(catalog).load();
        for (int shard = 0; shard < SHARDS; shard++) {
            String server = map.server(shard).name();
            servers.add(server);
            try (Connection connection = server(server).connect("a test");
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("SELECT id, concat_ws(' ', uid, text, version) FROM %s.note"
                            .formatted(Sharding.schema(shard)))) {
                while (row.next()) {
                    expected.put("%s %s".formatted(shard, row.getLong(1)), row.getString(2));
                }
            }
        }
        assertThat(servers).containsExactlyInAnyOrder("db1", "db2");
        assertThat(new TreeMap<>(rows)).isEqualTo(expected);
    }
}
