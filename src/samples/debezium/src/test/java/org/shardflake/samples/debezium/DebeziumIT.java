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
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cdc.ShardOrder;
import org.shardflake.changes.ChangeStream;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.move.AccountShards;
import org.shardflake.router.ShardRouter;

/** An engine for each of two servers; what they read is applied to one plain database. */
class DebeziumIT {

    private static final int ROUNDS = Integer.getInteger("debezium.rounds", 3);
    private static final String SLOT = "shardflake_cdc_debezium";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final Object lock = new Object();
    private final Map<String, Integer> topics = new HashMap<>();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final Random crashes = new Random();
    private AccountShards shards;
    private PlainDatabase sink;
    private ShardOrder order;
    private int past;
    private int later;
    private int restarts;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, PlainDatabase.SHARDS, directory);
        new ChangeStream(shards.catalogUrl(), server -> shards.url(server.name()), voice -> {}).create();
        for (String server : List.of("db1", "db2")) {
            shards.execute(server, "SELECT pg_create_logical_replication_slot('%s', 'pgoutput')".formatted(SLOT));
        }
        order = ShardOrder.begin(shards.catalogUrl());
        sink = new PlainDatabase(postgres.database(2).connect(), order);
    }

    @Test
    void equalThroughMovesReversesAndRestarts() throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Future<?>> engines = new ArrayList<>();
        try (ShardRouter router = ShardRouter.builder()
                .catalog(postgres.database(2).uri())
                .credentials(postgres.database(2).user(), postgres.database(2).password())
                .build()) {
            engines.add(threads.submit(() -> runEngine("db1", postgres.database(0))));
            engines.add(threads.submit(() -> runEngine("db2", postgres.database(1))));
            PlainDatabase.work(router, shards, ROUNDS, () -> {});
            synchronized (lock) {
                long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(600);
                while (!sink.isComplete() && failure.get() == null && System.nanoTime() < until) {
                    lock.wait(100);
                }
            }
        } finally {
            stopped.set(true);
            threads.shutdown();
        }
        for (Future<?> engine : engines) {
            engine.get(5, TimeUnit.MINUTES);
        }
        assertThat(failure.get()).isNull();
        assertThat(sink.isComplete()).isTrue();
        sink.compare(shards);
        assertThat(topics).containsOnlyKeys("photos.account", "photos.tag", "photos.shardflake_journal");
        System.out.printf(
                "%s rounds, %s, %s waits for another engine, %s records left out, %s restarts of engines%n",
                ROUNDS, topics, later, past, restarts);
    }

    /** Again after each end, as a service would. */
    private boolean runEngine(String server, TestDatabase database) throws Exception {
        Properties settings = new Properties();
        settings.putAll(ConnectorSettings.of(server, database, SLOT));
        settings.putAll(Map.of(
                "offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore",
                "offset.storage.file.filename",
                        directory.resolve(server + ".offsets").toString(),
                "offset.flush.interval.ms", "0"));
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
                    sink.change(record.topic().substring("photos.".length()), (Struct) record.key(), (Struct)
                            record.value());
                }
                sink.commit(order, "");
                lock.notifyAll();
            } catch (SQLException | RuntimeException | AssertionError e) {
                failure.compareAndSet(null, e);
                throw new IllegalStateException(e);
            }
            if (!sink.isComplete() && crashes.nextInt(400) == 0) {
                order = ShardOrder.parse(order.toString());
                throw new IllegalStateException("stopped by the test");
            }
        }
    }
}
