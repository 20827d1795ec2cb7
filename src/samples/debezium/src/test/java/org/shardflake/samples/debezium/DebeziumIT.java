/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.debezium;

import static org.assertj.core.api.Assertions.assertThat;

import io.debezium.embedded.Connect;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.RecordChangeEvent;
import io.debezium.engine.format.ChangeEventFormat;
import java.net.URI;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.cdc.ShardOrder;
import org.shardflake.cdc.ShardRouting;
import org.shardflake.changes.ChangeStream;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.move.AccountShards;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.server.MoveServer;
import org.shardflake.router.ShardRouter;

/** An engine for each of two servers; what they read is applied to one plain database. */
class DebeziumIT {

    private static final int SHARDS = 4;
    private static final int ROUNDS = Integer.getInteger("debezium.rounds", 3);
    private static final String SLOT = "shardflake_cdc_debezium";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final Object lock = new Object();
    private final Set<Integer> ends = new HashSet<>();
    private final Map<String, Integer> topics = new HashMap<>();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final Random crashes = new Random();
    private AccountShards shards;
    private Connection sink;
    private ShardOrder order;
    private int past;
    private int later;
    private int restarts;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, SHARDS, directory);
        new ChangeStream(shards.catalogUrl(), server -> shards.url(server.name()), voice -> {}).create();
        for (String server : List.of("db1", "db2")) {
            shards.execute(server, "SELECT pg_create_logical_replication_slot('%s', 'pgoutput')".formatted(SLOT));
        }
        order = ShardOrder.begin(shards.catalogUrl());
        sink = postgres.database(2).connect();
        execute("DROP SCHEMA IF EXISTS sink CASCADE; CREATE SCHEMA sink");
        execute(
                "CREATE TABLE sink.account (__shard int, id bigint, uid bigint, balance bigint, note text, PRIMARY KEY (__shard, id))");
        execute(
                "CREATE TABLE sink.tag (__shard int, account_id bigint, name text, PRIMARY KEY (__shard, account_id, name))");
        execute("CREATE TABLE sink.state (shards text); INSERT INTO sink.state VALUES ('%s')".formatted(order));
        sink.setAutoCommit(false);
    }

    @Test
    void equalThroughMovesReversesAndRestarts() throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Future<?>> engines = new ArrayList<>();
        AtomicBoolean written = new AtomicBoolean();
        try (ShardRouter router = ShardRouter.builder()
                .catalog(postgres.database(2).uri())
                .credentials(postgres.database(2).user(), postgres.database(2).password())
                .build()) {
            engines.add(threads.submit(() -> runEngine("db1", postgres.database(0))));
            engines.add(threads.submit(() -> runEngine("db2", postgres.database(1))));
            List<Future<?>> writers = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                writers.add(threads.submit(() -> write(router, written)));
            }
            Mover mover = new Mover(
                    shards.catalogUrl(),
                    name -> new MoveServer(name, shards.url(name)),
                    MoveSettings.DEFAULT,
                    new MoveListener() {});
            for (int round = 0; round < ROUNDS; round++) {
                boolean isThere = round % 2 == 1;
                ShardSet moving = ShardSet.parse("1,2");
                Move move = mover.record(isThere ? "db2" : "db1", isThere ? "db1" : "db2", moving, "a test");
                mover.follow(move.id());
                mover.cutOver(move.id(), moving);
                ShardSet back = ShardSet.parse("2");
                mover.reverse(move.id(), back);
                mover.cutOver(move.id(), back);
                mover.complete(move.id());
            }
            written.set(true);
            for (Future<?> writer : writers) {
                writer.get(5, TimeUnit.MINUTES);
            }
            for (int shard = 0; shard < SHARDS; shard++) {
                run(
                        router,
                        shard,
                        "INSERT INTO ${shard.schema}.account (uid, note) VALUES (%s, 'end')".formatted(shard));
            }
            synchronized (lock) {
                long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(600);
                while (ends.size() < SHARDS && failure.get() == null && System.nanoTime() < until) {
                    lock.wait(100);
                }
            }
        } finally {
            written.set(true);
            stopped.set(true);
            threads.shutdown();
        }
        for (Future<?> engine : engines) {
            engine.get(5, TimeUnit.MINUTES);
        }
        assertThat(failure.get()).isNull();
        assertThat(ends).hasSize(SHARDS);
        compare();
        assertThat(topics).containsOnlyKeys("photos.account", "photos.tag", "photos.shardflake_journal");
        System.out.printf(
                "%s rounds, %s, %s waits for another engine, %s records left out, %s restarts of engines%n",
                ROUNDS, topics, later, past, restarts);
    }

    /** Again after each end, as a service would. */
    private boolean runEngine(String server, TestDatabase database) throws Exception {
        URI uri = URI.create(database.uri());
        Properties settings = new Properties();
        settings.putAll(Map.of(
                "name", server,
                "connector.class", "io.debezium.connector.postgresql.PostgresConnector",
                "offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore",
                "offset.storage.file.filename",
                        directory.resolve(server + ".offsets").toString(),
                "offset.flush.interval.ms", "0",
                "database.hostname", uri.getHost(),
                "database.port", String.valueOf(uri.getPort()),
                "database.user", database.user(),
                "database.password", database.password(),
                "database.dbname", uri.getPath().substring(1)));
        settings.putAll(Map.of(
                "topic.prefix", server,
                "plugin.name", "pgoutput",
                "slot.name", SLOT,
                "publication.name", "shardflake_cdc",
                "publication.autocreate.mode", "disabled",
                "snapshot.mode", "no_data",
                "message.prefix.include.list", "shardflake",
                "message.key.columns", "shard_[0-9]+[.]account:id;shard_[0-9]+[.]tag:account_id,name",
                "poll.interval.ms", "10",
                "tombstones.on.delete", "false"));
        settings.putAll(Map.of(
                "transforms",
                "shards",
                "transforms.shards.type",
                ShardRouting.class.getName(),
                "transforms.shards.server",
                server,
                "transforms.shards.topic.prefix",
                "photos"));
        while (!stopped.get() && failure.get() == null) {
            AtomicReference<String> said = new AtomicReference<>();
            DebeziumEngine<RecordChangeEvent<SourceRecord>> engine = DebeziumEngine.create(
                            ChangeEventFormat.of(Connect.class))
                    .using(settings)
                    .using((success, message, error) -> said.set(success ? null : message + ": " + error))
                    .notifying((records, committer) -> {
                        for (RecordChangeEvent<SourceRecord> record : records) {
                            apply(record.record());
                            committer.markProcessed(record);
                        }
                        committer.markBatchFinished();
                    })
                    .build();
            Thread closing = new Thread(() -> {
                try {
                    while (!stopped.get()) {
                        Thread.sleep(50);
                    }
                    engine.close();
                } catch (Exception e) {
                    // It has ended.
                }
            });
            closing.setDaemon(true);
            closing.start();
            engine.run();
            synchronized (lock) {
                restarts++;
            }
            if (said.get() != null && !said.get().contains("stopped by the test") && !stopped.get()) {
                System.out.println(server + ": " + said.get());
            }
        }
        return true;
    }

    private void apply(SourceRecord record) throws InterruptedException {
        synchronized (lock) {
            try {
                ShardOrder.Turn turn = order.take(record);
                while (turn == ShardOrder.Turn.LATER) {
                    later++;
                    lock.wait(100);
                    if (stopped.get() || failure.get() != null) {
                        throw new InterruptedException("stopped");
                    }
                    turn = order.take(record);
                }
                topics.merge(record.topic(), 1, Integer::sum);
                if (turn == ShardOrder.Turn.PAST) {
                    past++;
                } else if (!record.topic().endsWith("_journal")) {
                    change(record);
                }
                execute("UPDATE sink.state SET shards = '%s'".formatted(order));
                sink.commit();
                lock.notifyAll();
            } catch (SQLException | RuntimeException | AssertionError e) {
                failure.compareAndSet(null, e);
                throw new IllegalStateException(e);
            }
            if (ends.size() < SHARDS && crashes.nextInt(400) == 0) {
                order = ShardOrder.parse(order.toString());
                throw new IllegalStateException("stopped by the test");
            }
        }
    }

    /** By its key, since Debezium sends some again after it has ended. */
    private void change(SourceRecord record) throws SQLException {
        Struct key = (Struct) record.key();
        Struct value = (Struct) record.value();
        String table = record.topic().substring("photos.".length());
        String op = value.getString("op");
        List<String> keys = key.schema().fields().stream().map(Field::name).toList();
        if (op.equals("d")) {
            String where = keys.stream().map(name -> name + " = ?").collect(Collectors.joining(" AND "));
            try (PreparedStatement statement =
                    sink.prepareStatement("DELETE FROM sink.%s WHERE %s".formatted(table, where))) {
                set(statement, 1, key);
                statement.executeUpdate();
            }
            return;
        }
        Struct row = value.getStruct("after");
        List<String> columns = row.schema().fields().stream().map(Field::name).toList();
        try (PreparedStatement statement = sink.prepareStatement(
                "INSERT INTO sink.%s (__shard, %s) VALUES (?%s) ON CONFLICT (%s) DO UPDATE SET __shard = excluded.__shard%s"
                        .formatted(
                                table,
                                String.join(", ", columns),
                                ", ?".repeat(columns.size()),
                                String.join(", ", keys),
                                columns.stream()
                                        .map(name -> ", %1$s = excluded.%1$s".formatted(name))
                                        .collect(Collectors.joining())))) {
            statement.setObject(1, key.get("__shard"));
            set(statement, 2, row);
            statement.executeUpdate();
        }
        if (columns.contains("note") && "end".equals(row.get("note"))) {
            ends.add(key.getInt32("__shard"));
        }
    }

    private static void set(PreparedStatement statement, int from, Struct values) throws SQLException {
        int at = from;
        for (Field field : values.schema().fields()) {
            statement.setObject(at++, values.get(field));
        }
    }

    private static void run(ShardRouter router, int shard, String sql) throws SQLException {
        router.run((long) shard, tx -> {
            try (Statement statement = tx.connection().createStatement()) {
                statement.execute(tx.sql(sql));
            }
        });
    }

    private boolean write(ShardRouter router, AtomicBoolean written) throws SQLException, InterruptedException {
        Random random = new Random();
        while (!written.get()) {
            String some = "(SELECT id FROM ${shard.schema}.account ORDER BY random() LIMIT 1)";
            int shard = random.nextInt(SHARDS);
            run(
                    router,
                    shard,
                    switch (random.nextInt(5)) {
                        case 0, 1 ->
                            "INSERT INTO ${shard.schema}.account (uid, note) SELECT %s, 'new' FROM generate_series(1, 3)"
                                    .formatted(shard);
                        case 2 -> "UPDATE ${shard.schema}.account SET balance = balance + 1 WHERE id = " + some;
                        case 3 ->
                            "INSERT INTO ${shard.schema}.tag SELECT id, 'a' FROM ${shard.schema}.account ORDER BY random() LIMIT 1 ON CONFLICT DO NOTHING";
                        default -> "DELETE FROM ${shard.schema}.account WHERE id = " + some;
                    });
            TimeUnit.MILLISECONDS.sleep(5);
        }
        return true;
    }

    private void compare() throws SQLException {
        ShardMap map = shards.catalog().load();
        Map<String, String> columns = Map.of("account", "id, uid, balance, note", "tag", "account_id, name");
        for (int shard = 0; shard < SHARDS; shard++) {
            try (Connection there = shards.url(map.server(shard).name()).connect("a test")) {
                for (Map.Entry<String, String> table : columns.entrySet()) {
                    String hash =
                            "SELECT count(*) || ' rows ' || COALESCE(md5(string_agg(t::text, '' ORDER BY t::text)), '') FROM (SELECT %s FROM %s) t";
                    assertThat(text(
                                    sink,
                                    hash.formatted(
                                            table.getValue(),
                                            "sink.%s WHERE __shard = %s".formatted(table.getKey(), shard))))
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
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }

    private void execute(String sql) throws SQLException {
        try (Statement statement = sink.createStatement()) {
            statement.execute(sql);
        }
    }
}
