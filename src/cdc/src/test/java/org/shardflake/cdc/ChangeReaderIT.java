/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.Sharding;
import org.shardflake.changes.ChangeStream;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.move.AccountShards;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.MoveStep;
import org.shardflake.move.Mover;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.server.MoveServer;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;

/** A reader applies the changes of all servers to one plain database, which refuses each that comes twice, too early or not at all. */
class ChangeReaderIT {

    private static final int SHARDS = 8;
    private static final String NAME = "sink";
    private static final int AHEAD = 300;
    private static final int ROWS = 120;
    private static final List<String> ADDED = List.of("db3", "db4");

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(5);

    @TempDir
    Path directory;

    private AccountShards shards;
    private ChangeStream stream;
    private Connection sink;
    private final AtomicLong written = new AtomicLong();
    private final AtomicLong read = new AtomicLong();
    private final AtomicInteger snapshots = new AtomicInteger();
    private final Map<Integer, EventId> latest = new HashMap<>();
    private final AtomicInteger crashes = new AtomicInteger();
    private volatile boolean crashing;
    private int cutOver;
    private int reversed;

    /** The reader's progress, for the message if it does not reach the end. */
    private volatile String reached = "";

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, SHARDS, directory);
        stream = new ChangeStream(shards.catalogUrl(), server -> url(server.name()), voice -> {});
        stream.create();
        sink = postgres.database(2).connect();
        execute("DROP SCHEMA IF EXISTS sink CASCADE; CREATE SCHEMA sink");
        execute(
                "CREATE TABLE sink.account (shard int, id bigint, uid bigint, balance bigint, note text, PRIMARY KEY (shard, id))");
        execute(
                "CREATE TABLE sink.entry (shard int, id bigint, account_id bigint, amount bigint, key uuid, created_at timestamptz, PRIMARY KEY (shard, id))");
        execute(
                "CREATE TABLE sink.tag (shard int, account_id bigint, name text, PRIMARY KEY (shard, account_id, name))");
        execute("CREATE TABLE sink.positions (positions text); INSERT INTO sink.positions VALUES (NULL)");
        sink.setAutoCommit(false);
    }

    private ServerUrl url(String server) {
        return ADDED.contains(server) ? ServerUrl.parse(added(server).uri()) : shards.url(server);
    }

    private static TestDatabase added(String server) {
        return postgres.database(3 + ADDED.indexOf(server));
    }

    @Test
    void appliesEachChangeOnceAndInOrder() throws Exception {
        run(new Random(7), 5, 1, false);
    }

    @Test
    @Tag("full")
    @Timeout(value = 3, unit = TimeUnit.HOURS)
    void appliesEachChangeOnceAndInOrderThroughManyMoves() throws Exception {
        run(new Random(), Integer.getInteger("cdc.cutovers", 20), Integer.getInteger("cdc.reverses", 2), false);
    }

    @Test
    @Tag("full")
    @Timeout(value = 3, unit = TimeUnit.HOURS)
    void appliesEachChangeOnceAndInOrderWhileServersCrashInCutovers() throws Exception {
        run(new Random(), Integer.getInteger("cdc.cutovers", 20), Integer.getInteger("cdc.reverses", 2), true);
    }

    /** Until at least so many shards were cut over, and so many reversed. */
    private void run(Random random, int cutovers, int reverses, boolean withCrashes) throws Exception {
        crashing = withCrashes;
        AtomicBoolean stopped = new AtomicBoolean();
        ExecutorService threads = Executors.newCachedThreadPool();
        for (int shard = 0; shard < SHARDS; shard++) {
            shards.execute(
                    "db1",
                    "INSERT INTO %1$s.account (uid, note) SELECT %2$s, 'before' FROM generate_series(1, %3$s); INSERT INTO %1$s.entry (account_id, amount, key) SELECT id, 7, gen_random_uuid() FROM %1$s.account"
                            .formatted(Sharding.schema(shard), shard, random.nextInt(ROWS)));
        }
        try (ShardRouter router = router()) {
            List<Future<?>> writers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                long seed = random.nextLong();
                writers.add(threads.submit(() -> write(router, new Random(seed), stopped)));
            }
            while (written.get() < AHEAD / 2) {
                for (Future<?> writer : writers) {
                    if (writer.isDone()) {
                        writer.get(); // It failed: it was not stopped.
                    }
                }
                Thread.sleep(5);
            }
            try (ChangeReader reader =
                    ChangeReader.beginWithSnapshot(shards.catalogUrl(), server -> url(server.name()), NAME)) {
                store(reader.positions());
                sink.commit();
            }
            long seed = random.nextLong();
            Future<?> reading = threads.submit(() -> read(new Random(seed)));
            for (String server : ADDED) {
                add(server);
            }
            while (cutOver < cutovers || reversed < reverses) {
                move(random, reading);
            }
            stopped.set(true);
            for (Future<?> writer : writers) {
                writer.get(60, TimeUnit.SECONDS);
            }
            for (int shard = 0; shard < SHARDS; shard++) {
                long uid = shard;
                Step end = () -> router.run(uid, tx -> {
                    try (var statement = tx.connection().createStatement()) {
                        statement.execute(tx.sql(
                                "INSERT INTO ${shard.schema}.account (uid, note) VALUES (%s, 'end')".formatted(uid)));
                    }
                });
                repeat(end, reading);
            }
            try {
                reading.get(10, TimeUnit.MINUTES);
            } catch (TimeoutException e) {
                throw new AssertionError(
                        "after %s cutovers and %s reverses, %s of %s writes were read; %s"
                                .formatted(cutOver, reversed, read, written, reached),
                        e);
            }
        } finally {
            stopped.set(true);
            threads.shutdownNow();
        }
        compare();
        assertThat(snapshots.get()).isGreaterThanOrEqualTo(SHARDS);
        assertThat(crashes.get() > 0).isEqualTo(withCrashes);
        System.out.printf(
                "%s cutovers, %s reverses, %s writes, %s snapshots of %s shards, %s crashes%n",
                cutOver, reversed, written, snapshots, SHARDS, crashes);
    }

    /** Prints how long after the longest write of each cutover, which waited for the pause, the reader has it. */
    @Test
    @Tag("full")
    void changesArriveSoonAfterACutover() throws Exception {
        int cutovers = Integer.getInteger("cdc.delays", 10);
        Map<String, Long> begun = new ConcurrentHashMap<>();
        Map<String, Long> done = new ConcurrentHashMap<>();
        Map<String, Long> read = new ConcurrentHashMap<>();
        AtomicBoolean stopped = new AtomicBoolean();
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Long> starts = new ArrayList<>();
        try (ShardRouter router = router();
                ChangeReader reader = ChangeReader.begin(shards.catalogUrl(), server -> url(server.name()), NAME)) {
            Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
            ShardSet moving = ShardSet.of(1);
            Move move =
                    mover.follow(mover.record("db1", "db2", moving, "a test").id());
            Future<?> writer = threads.submit(() -> {
                for (int i = 0; !stopped.get(); i++) {
                    String note = "n" + i;
                    begun.put(note, System.nanoTime());
                    router.run(1L, tx -> {
                        try (var statement = tx.connection().createStatement()) {
                            statement.execute(tx.sql("INSERT INTO ${shard.schema}.account (uid, note) VALUES (1, '%s')"
                                    .formatted(note)));
                        }
                    });
                    done.put(note, System.nanoTime());
                    TimeUnit.MILLISECONDS.sleep(2); // So that the reader always has time to spare.
                }
                return true;
            });
            Future<?> reading = threads.submit(() -> {
                while (!writer.isDone() || read.size() < begun.size()) {
                    reader.poll(Duration.ofMillis(100))
                            .ifPresent(change -> read.put(change.row().get("note"), System.nanoTime()));
                }
                return true;
            });
            for (int i = 0; i < cutovers; i++) {
                TimeUnit.MILLISECONDS.sleep(300);
                starts.add(System.nanoTime());
                if (i % 2 == 0) {
                    mover.cutOver(move.id(), moving);
                } else {
                    mover.reverse(move.id(), moving);
                }
                TimeUnit.MILLISECONDS.sleep(300);
            }
            stopped.set(true);
            writer.get(1, TimeUnit.MINUTES);
            reading.get(1, TimeUnit.MINUTES);
        } finally {
            stopped.set(true);
            threads.shutdownNow();
        }
        assertThat(read.keySet()).isEqualTo(begun.keySet());
        List<Long> pauses = new ArrayList<>();
        List<Long> added = new ArrayList<>();
        for (int i = 0; i < cutovers; i++) {
            long from = starts.get(i);
            long to = i + 1 < cutovers ? starts.get(i + 1) : Long.MAX_VALUE;
            String longest = begun.entrySet().stream()
                    .filter(write -> write.getValue() >= from && write.getValue() < to)
                    .map(Map.Entry::getKey)
                    .max(Comparator.comparing(note -> between(begun, done, note)))
                    .orElseThrow();
            pauses.add(between(begun, done, longest));
            added.add(between(done, read, longest));
        }
        System.out.printf(
                "%s writes, %s cutovers; ms at p50, p90 and most: from the end of any write to its reading %s; longest write of each cutover %s; from its end to its reading %s%n",
                read.size(),
                cutovers,
                quantiles(read.keySet().stream()
                        .map(note -> between(done, read, note))
                        .toList()),
                quantiles(pauses),
                quantiles(added));
    }

    private static long between(Map<String, Long> from, Map<String, Long> to, String note) {
        return requireNonNull(to.get(note)) - requireNonNull(from.get(note));
    }

    private static String quantiles(List<Long> nanos) {
        List<Long> sorted = nanos.stream().sorted().toList();
        return Stream.of(0.5, 0.9, 1.0)
                .map(part -> "%.1f".formatted(sorted.get((int) Math.ceil(part * sorted.size()) - 1) / 1e6))
                .collect(Collectors.joining(" "));
    }

    private ShardRouter router() {
        return ShardRouter.builder()
                .catalog(postgres.database(2).uri())
                .credentials(postgres.database(2).user(), postgres.database(2).password())
                .build();
    }

    /** A server that the reader does not know when it begins. */
    private void add(String server) throws SQLException {
        try (Connection connection = added(server).connect()) {
            FunctionLibrary.deploy(connection);
        }
        shards.catalog().addServer(new Server(server, added(server).uri().replaceFirst(":[^:@/]*@", "@")), "a test");
        stream.create();
    }

    private void move(Random random, Future<?> reading) throws Exception {
        ShardMap map = shards.catalog().load();
        List<Server> servers = map.servers();
        Server source = servers.get(random.nextInt(servers.size()));
        if (map.shards(source).isEmpty()) {
            source = map.server(random.nextInt(SHARDS));
        }
        List<Integer> its = new ArrayList<>(map.shards(source).stream().boxed().toList());
        Collections.shuffle(its, random);
        ShardSet moving = ShardSet.of(its.subList(0, Math.min(its.size(), 1 + random.nextInt(3))));
        List<Server> others = new ArrayList<>(servers);
        others.remove(source);
        Server target = others.get(random.nextInt(others.size()));
        boolean first = crashing && crashes.get() == 0; // There must be one.
        AtomicInteger failing = new AtomicInteger(first ? 1 + random.nextInt(2) : random.nextInt(3));
        MoveStep where = List.of(MoveStep.FENCED, MoveStep.DRAINED, MoveStep.STAGED, MoveStep.SWITCHED)
                .get(random.nextInt(4));
        boolean killed = random.nextBoolean();
        String victim = random.nextBoolean() ? source.name() : target.name();
        Mover mover = new Mover(
                shards.catalogUrl(), name -> new MoveServer(name, url(name)), MoveSettings.DEFAULT, new MoveListener() {
                    @Override
                    public void reached(MoveStep step) {
                        if (step == where && failing.getAndDecrement() > 0) {
                            if (crashing) {
                                crash(victim);
                                return;
                            }
                            if (killed) {
                                throw new AssertionError("killed by the test"); // Nothing is cleaned up.
                            }
                            throw new IllegalStateException("stopped by the test");
                        }
                    }
                });
        Move move = mover.record(source.name(), target.name(), moving, "a test");
        mover.follow(move.id());
        cutOver(mover, move, moving, reading);
        if (random.nextBoolean()) {
            ShardSet back = ShardSet.of(moving.stream().limit(2).toArray());
            repeat(() -> mover.reverse(move.id(), back), reading);
            reversed += back.size();
            if (back.equals(moving)) {
                repeat(() -> mover.cancel(move.id(), Mover.End.BACK), reading);
                return;
            }
            cutOver(mover, move, back, reading);
        }
        repeat(() -> mover.complete(move.id()), reading);
    }

    /** On a thread of its own, since that of the work may be interrupted. */
    private void crash(String server) {
        CompletableFuture.runAsync(() -> {
                    PostgresServer its = postgres.database(List.of("db1", "db2", "catalog", "db3", "db4")
                                    .indexOf(server))
                            .server();
                    its.crash();
                    its.start();
                })
                .join();
        crashes.incrementAndGet();
    }

    private void cutOver(Mover mover, Move move, ShardSet moving, Future<?> reading) throws Exception {
        repeat(() -> mover.cutOver(move.id(), moving), reading);
        cutOver += moving.size();
    }

    @FunctionalInterface
    private interface Step {
        void run() throws Exception;
    }

    /** Again after an interruption by the test, and while the reader has no slot on the new server yet. */
    private void repeat(Step step, Future<?> reading) throws Exception {
        for (int attempt = 1; ; attempt++) {
            if (reading.isDone()) {
                reading.get();
            }
            try {
                step.run();
                return;
            } catch (IllegalStateException | ShardflakeException | AssertionError e) {
                if (attempt == 200
                        || !(crashing || e instanceof MoveException || !(e instanceof ShardflakeException))
                        || (e instanceof AssertionError && !"killed by the test".equals(e.getMessage()))) {
                    throw e;
                }
                TimeUnit.MILLISECONDS.sleep(100);
            }
        }
    }

    private boolean write(ShardRouter router, Random random, AtomicBoolean stopped) throws Exception {
        Map<Long, Long> accounts = new LinkedHashMap<>();
        while (!stopped.get()) {
            if (written.get() - read.get() > AHEAD) { // The reader is not to be left with more when they end.
                TimeUnit.MILLISECONDS.sleep(1);
                continue;
            }
            written.incrementAndGet();
            long uid = random.nextInt(SHARDS);
            int what = random.nextInt(6);
            List<Long> known = accounts.entrySet().stream()
                    .filter(account -> account.getValue() == uid)
                    .map(Map.Entry::getKey)
                    .toList();
            try {
                change(router, random, accounts, uid, what, known);
            } catch (SQLException | ShardflakeException e) {
                if (!crashing) {
                    throw e;
                }
            }
        }
        return true;
    }

    private static void change(
            ShardRouter router, Random random, Map<Long, Long> accounts, long uid, int what, List<Long> known)
            throws SQLException {
        if (what == 0 || known.isEmpty()) {
            long id = router.write(uid, tx -> {
                try (var statement = tx.connection().createStatement();
                        ResultSet row = statement.executeQuery(tx.sql(
                                "INSERT INTO ${shard.schema}.account (uid, note) VALUES (%s, (SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 200))) RETURNING id"
                                        .formatted(uid)))) {
                    row.next();
                    return row.getLong(1);
                }
            });
            accounts.put(id, uid);
        } else {
            long id = known.get(random.nextInt(known.size()));
            String sql = List.of(
                            "UPDATE ${shard.schema}.account SET balance = balance + 1 WHERE id = %1$s",
                            "UPDATE ${shard.schema}.account SET note = 'changed ' || balance WHERE id = %1$s; INSERT INTO ${shard.schema}.entry (account_id, amount, key) VALUES (%1$s, 1, gen_random_uuid()), (%1$s, 2, gen_random_uuid())",
                            "INSERT INTO ${shard.schema}.tag VALUES (%1$s, 'a') ON CONFLICT DO NOTHING; UPDATE ${shard.schema}.tag SET name = 'b' || random() WHERE account_id = %1$s AND name = 'a'",
                            "DELETE FROM ${shard.schema}.account WHERE id = %1$s; DELETE FROM ${shard.schema}.tag WHERE account_id = %1$s",
                            "UPDATE ${shard.schema}.entry SET amount = amount + 1 WHERE account_id = %1$s")
                    .get(what - 1)
                    .formatted(id);
            router.run(uid, tx -> {
                try (var statement = tx.connection().createStatement()) {
                    statement.execute(tx.sql(sql));
                }
            });
            if (what == 4) {
                accounts.remove(id);
            }
        }
    }

    /** Applies changes until the last row of each shard has arrived. Now and then it stops in the middle of a transaction and starts again. */
    private boolean read(Random random) throws Exception {
        Set<Integer> ends = new HashSet<>();
        while (ends.size() < SHARDS) {
            Set<Integer> committedEnds = new HashSet<>(ends);
            Map<Integer, EventId> before = new HashMap<>(latest);
            try (ChangeReader reader =
                    ChangeReader.open(shards.catalogUrl(), server -> url(server.name()), NAME, stored())) {
                int until = 1 + random.nextInt(2000);
                for (int read = 0; read < until && ends.size() < SHARDS; read++) {
                    Optional<Change> next = reader.poll(Duration.ofMillis(200));
                    if (next.isPresent()) {
                        apply(next.get());
                        this.read.addAndGet(next.get().isLast() ? 1 : 0);
                        if ("end".equals(next.get().row().get("note"))) {
                            ends.add(next.get().id().shard());
                        } else if (next.get().kind() == Change.Kind.SNAPSHOT) {
                            ends.remove(next.get().id().shard());
                        }
                    }
                    if (next.isEmpty() && reader.waiting().isEmpty()) {
                        this.read.set(written.get()); // Some were in snapshots.
                    }
                    if (next.isEmpty() || ends.size() == SHARDS || random.nextInt(10) == 0) {
                        store(reader.positions());
                        sink.commit();
                        reached = "ends of %s, waiting for %s, positions %s"
                                .formatted(ends, reader.waiting(), reader.positions());
                        reader.confirm(reader.positions());
                        committedEnds = new HashSet<>(ends);
                        before = new HashMap<>(latest);
                    }
                }
            }
            sink.rollback();
            ends = committedEnds;
            latest.clear();
            latest.putAll(before);
        }
        return true;
    }

    private void apply(Change change) throws SQLException {
        int shard = change.id().shard();
        EventId previous = latest.put(shard, change.id());
        if (change.kind() == Change.Kind.SNAPSHOT) {
            snapshots.incrementAndGet();
            for (String table : List.of("account", "entry", "tag")) {
                execute("DELETE FROM sink.%s WHERE shard = %s".formatted(table, shard));
            }
            return;
        }
        assertThat(previous == null || previous.compareTo(change.id()) < 0)
                .as("%s after %s", change, previous)
                .isTrue();
        Map<String, @Nullable String> row = change.row();
        List<@Nullable String> values = new ArrayList<>();
        String sql = switch (change.kind()) {
            case INSERT, ROW -> {
                values.addAll(row.values());
                yield "INSERT INTO sink.%s (shard, %s) VALUES (%s, %s)"
                        .formatted(
                                change.table(),
                                String.join(", ", row.keySet()),
                                shard,
                                row.keySet().stream()
                                        .map(column -> cast(column))
                                        .collect(Collectors.joining(", ")));
            }
            case UPDATE -> {
                values.addAll(row.values());
                values.addAll(change.key().values());
                yield "UPDATE sink.%s SET %s WHERE shard = %s AND %s"
                        .formatted(change.table(), list(row, ", "), shard, list(change.key(), " AND "));
            }
            case DELETE -> {
                values.addAll(change.key().values());
                yield "DELETE FROM sink.%s WHERE shard = %s AND %s"
                        .formatted(change.table(), shard, list(change.key(), " AND "));
            }
            case TRUNCATE, SNAPSHOT -> throw new AssertionError(change);
        };
        try (PreparedStatement statement = sink.prepareStatement(sql)) {
            for (int i = 0; i < values.size(); i++) {
                statement.setString(i + 1, values.get(i));
            }
            assertThat(statement.executeUpdate()).as("rows of %s", change).isEqualTo(1);
        }
    }

    private static String cast(String column) {
        return "CAST(? AS %s)"
                .formatted(
                        switch (column) {
                            case "note", "name" -> "text";
                            case "key" -> "uuid";
                            case "created_at" -> "timestamptz";
                            default -> "bigint";
                        });
    }

    private static String list(Map<String, @Nullable String> values, String separator) {
        return values.keySet().stream()
                .map(column -> column + " = " + cast(column))
                .collect(Collectors.joining(separator));
    }

    private void compare() throws SQLException {
        ShardMap map = shards.catalog().load();
        Map<String, String> columns = Map.of(
                "account",
                "id, uid, balance, note",
                "entry",
                "id, account_id, amount, key, created_at",
                "tag",
                "account_id, name");
        for (int shard = 0; shard < SHARDS; shard++) {
            try (Connection there = url(map.server(shard).name()).connect("a test")) {
                for (Map.Entry<String, String> table : columns.entrySet()) {
                    String hash =
                            "SELECT count(*) || ' rows ' || COALESCE(md5(string_agg(md5(t::text), '' ORDER BY md5(t::text))), '') FROM (SELECT %s FROM %s) t";
                    assertThat(text(
                                    sink,
                                    hash.formatted(
                                            table.getValue(),
                                            "sink.%s WHERE shard = %s".formatted(table.getKey(), shard))))
                            .as("%s of shard %s", table.getKey(), shard)
                            .isEqualTo(text(
                                    there,
                                    hash.formatted(table.getValue(), Sharding.schema(shard) + "." + table.getKey())));
                }
            }
        }
        assertThat(Long.parseLong(text(sink, "SELECT count(*) FROM sink.account")))
                .isGreaterThan(SHARDS);
    }

    private static String text(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    private void execute(String sql) throws SQLException {
        try (var statement = sink.createStatement()) {
            statement.execute(sql);
        }
    }

    private void store(String positions) throws SQLException {
        try (PreparedStatement statement = sink.prepareStatement("UPDATE sink.positions SET positions = ?")) {
            statement.setString(1, positions);
            statement.executeUpdate();
        }
    }

    private String stored() throws SQLException {
        return text(sink, "SELECT positions FROM sink.positions");
    }

    @Test
    void aLostSlotIsAnErrorAndNotAGap() throws Exception {
        String positions;
        try (ChangeReader reader = ChangeReader.begin(shards.catalogUrl(), server -> url(server.name()), NAME)) {
            positions = reader.positions();
        }
        shards.execute("db1", "INSERT INTO shard_0001.account (uid) VALUES (1)");
        shards.execute("db1", "SELECT pg_replication_slot_advance('shardflake_cdc_sink', pg_current_wal_insert_lsn())");
        try (ChangeReader reader =
                ChangeReader.open(shards.catalogUrl(), server -> url(server.name()), NAME, positions)) {
            assertThatThrownBy(() -> reader.poll(Duration.ofSeconds(30)))
                    .isInstanceOf(ChangesLostException.class)
                    .hasMessageContaining("someone else has read it");
        }
        shards.execute("db1", "SELECT pg_drop_replication_slot('shardflake_cdc_sink')");
        try (ChangeReader reader =
                ChangeReader.open(shards.catalogUrl(), server -> url(server.name()), NAME, positions)) {
            assertThatThrownBy(() -> reader.poll(Duration.ofSeconds(30)))
                    .isInstanceOf(ChangesLostException.class)
                    .hasMessageContaining("db1 has no slot shardflake_cdc_sink any more");
        }
    }

    @Test
    void aRowOfASnapshotHasTheTextOfAChange() throws Exception {
        shards.execute(
                "db1",
                "CREATE TABLE shard_0003.typed (id bigint PRIMARY KEY, twice bigint GENERATED ALWAYS AS (id * 2) STORED, yes boolean, padded char(5), bytes bytea, part numeric, at timestamptz, span interval, near float8, list text[], document jsonb, nothing text); SELECT shardflake.complete_tables(3)");
        shards.execute(
                "db1",
                "INSERT INTO shard_0003.typed (yes, padded, bytes, part, at, span, near, list, document) VALUES (true, 'ab', '\\x00ff', 1.50, now(), '1 day 02:03', 0.1::float8 + 0.2, ARRAY['a b', NULL, '\"'], '{\"a\": [1, null]}')");
        List<Change> found = new ArrayList<>();
        try (ChangeReader reader =
                ChangeReader.beginWithSnapshot(shards.catalogUrl(), server -> url(server.name()), NAME)) {
            for (int i = 0; i < 100 && !reader.waiting().isEmpty(); i++) {
                reader.poll(Duration.ofSeconds(30)).ifPresent(found::add);
            }
            shards.execute("db1", "UPDATE shard_0003.typed SET part = part");
            for (int i = 0; i < 100 && found.get(found.size() - 1).kind() != Change.Kind.UPDATE; i++) {
                reader.poll(Duration.ofSeconds(30)).ifPresent(found::add);
            }
        }
        assertThat(found.stream().filter(change -> change.kind() == Change.Kind.SNAPSHOT))
                .hasSize(SHARDS)
                .allMatch(change -> change.isLast() == (change.id().shard() != 3));
        List<Change> rows =
                found.stream().filter(change -> change.table().equals("typed")).toList();
        assertThat(rows).extracting(Change::kind).containsExactly(Change.Kind.ROW, Change.Kind.UPDATE);
        assertThat(rows.get(0).row())
                .isEqualTo(rows.get(1).row())
                .containsEntry("yes", "t")
                .hasSize(11);
        assertThat(rows.get(0).id()).isLessThan(rows.get(1).id());
    }
}
