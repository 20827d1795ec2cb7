/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.debezium;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.apache.kafka.connect.source.SourceRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cdc.ChangeReader;
import org.shardflake.cdc.ShardOrder;
import org.shardflake.changes.ChangeStream;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.AccountShards;

/**
 * Prints the rate at which one server's changes are read: by Debezium alone from a plain publication, by Debezium with the transformation and the order
 * of shards, and by the reader in Java. All three read the same rows in each turn, one after the other, in an order that changes.
 */
@EnabledIfSystemProperty(named = "debezium.rate", matches = "[0-9]+")
@Timeout(value = 1, unit = TimeUnit.HOURS)
class RateIT {

    private static final int TURNS = Integer.getInteger("debezium.turns", 7);
    private static final String PLAIN = "plain";
    private static final String ROUTED = "Debezium with the transformation";
    private static final String READER = "the reader in Java";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @TempDir
    Path directory;

    @SuppressWarnings("NullAway.Init") // by the test
    private AccountShards shards;

    private int changes;
    private final OperatingSystemMXBean processor = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    @Test
    void rates() throws Exception {
        int rows = Integer.getInteger("debezium.rate") / PlainDatabase.SHARDS;
        shards = AccountShards.createWithLibraries(postgres, 1, PlainDatabase.SHARDS, directory);
        new ChangeStream(shards.catalogUrl(), server -> shards.url(server.name()), voice -> {}).create();
        shards.execute("db1", "CREATE PUBLICATION plain FOR ALL TABLES");
        Map<String, List<Double>> ratios = new TreeMap<>();
        for (int turn = 0; turn <= TURNS; turn++) {
            for (String slot : List.of(PLAIN, Engines.SLOT)) {
                shards.execute("db1", "SELECT pg_create_logical_replication_slot('%s', 'pgoutput')".formatted(slot));
            }
            try (ChangeReader reader =
                    ChangeReader.begin(shards.catalogUrl(), server -> shards.url(server.name()), "rate")) {
                write(rows);
                List<String> order = new ArrayList<>(List.of(PLAIN, ROUTED, READER));
                Collections.shuffle(order);
                Map<String, Double> rates = new HashMap<>();
                Map<String, Long> times = new HashMap<>();
                for (String kind : order) {
                    long used = processor.getProcessCpuTime();
                    rates.put(kind, kind.equals(READER) ? read(reader) : readByDebezium(kind));
                    times.put(kind, (processor.getProcessCpuTime() - used) / 1000 / changes);
                }
                System.out.printf(
                        "turn %s, %s changes, changes a second: %s; us of processor time for each: %s%n",
                        turn, changes, rates, times);
                for (String kind : List.of(ROUTED, READER)) {
                    if (turn > 0) { // The first one warms up.
                        ratios.computeIfAbsent(kind, its -> new ArrayList<>())
                                .add(Objects.requireNonNull(rates.get(kind))
                                        / Objects.requireNonNull(rates.get(PLAIN)));
                    }
                }
            }
            for (String slot : List.of(PLAIN, Engines.SLOT, "shardflake_cdc_rate")) {
                shards.await(
                        "db1",
                        "SELECT count(*) FROM pg_replication_slots WHERE active AND slot_name = '%s'".formatted(slot),
                        0);
                shards.execute("db1", "SELECT pg_drop_replication_slot('%s')".formatted(slot));
            }
        }
        ratios.forEach((kind, its) -> {
            Collections.sort(its);
            System.out.printf(
                    "%s: %.2f of the rate of Debezium alone (%.2f to %.2f in %s turns)%n",
                    kind, its.get(its.size() / 2), its.get(0), its.get(its.size() - 1), its.size());
        });
        assertThat(ratios).hasSize(2);
    }

    /** Inserts, and an update of each, in transactions of 1 to 20 rows. */
    private void write(int rows) throws Exception {
        changes = 0;
        for (int done = 0; done < rows; done += 20) {
            int some = 1 + done / 20 % 20;
            StringBuilder sql = new StringBuilder();
            for (int shard = 0; shard < PlainDatabase.SHARDS; shard++) {
                sql.append(
                        "INSERT INTO shard_%1$04d.account (uid, note) SELECT %1$s, repeat('x', 100) FROM generate_series(1, %2$s); COMMIT;"
                                .formatted(shard, some));
                sql.append(
                        "UPDATE shard_%1$04d.account SET balance = balance + 1 WHERE id IN (SELECT id FROM shard_%1$04d.account ORDER BY id DESC LIMIT %2$s); COMMIT;"
                                .formatted(shard, some));
                changes += 2 * some;
            }
            shards.execute("db1", sql.toString());
        }
    }

    private double readByDebezium(String kind) throws Exception {
        boolean isRouted = kind.equals(ROUTED);
        Map<String, String> settings =
                ConnectorSettings.of("db1", postgres.database(0).uri(), isRouted ? Engines.SLOT : PLAIN);
        Consumer<SourceRecord> consumer = record -> {};
        if (isRouted) {
            ShardOrder order = ShardOrder.begin(shards.catalogUrl());
            consumer = record -> {
                if (order.take(record) != ShardOrder.Turn.NOW) {
                    throw new IllegalStateException("a record came out of turn: " + record);
                }
            };
        } else {
            settings.keySet().removeIf(name -> name.startsWith("transforms"));
            settings.put("publication.name", PLAIN);
        }
        Consumer<SourceRecord> its = consumer;
        AtomicInteger count = new AtomicInteger();
        long[] times = new long[2];
        CountDownLatch end = new CountDownLatch(1);
        try (EngineThread engine = new EngineThread(settings, record -> {
            its.accept(record);
            int now = count.incrementAndGet();
            if (now == 1) {
                times[0] = System.nanoTime();
            } else if (now == changes) {
                times[1] = System.nanoTime();
                end.countDown();
            }
        })) {
            assertThat(end.await(10, TimeUnit.MINUTES)).isTrue();
        }
        return changes * 1e9 / (times[1] - times[0]);
    }

    private static void next(ChangeReader reader) {
        if (reader.poll(Duration.ofMinutes(1)).isEmpty()) {
            throw new IllegalStateException("no change within a minute");
        }
    }

    private double read(ChangeReader reader) {
        next(reader);
        long begin = System.nanoTime();
        for (int i = 1; i < changes; i++) {
            next(reader);
        }
        return changes * 1e9 / (System.nanoTime() - begin);
    }
}
