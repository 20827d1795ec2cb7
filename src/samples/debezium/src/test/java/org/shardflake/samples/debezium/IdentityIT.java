/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.debezium;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.PGConnection;
import org.shardflake.ShardSet;
import org.shardflake.cdc.Change;
import org.shardflake.cdc.ChangeReader;
import org.shardflake.cdc.EventId;
import org.shardflake.cdc.ShardOrder;
import org.shardflake.changes.ChangeStream;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.AccountShards;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;

/** Debezium and the reader in Java read the same changes, before and after a shard moves: each has the same identity in both, in the same order. */
class IdentityIT {

    private static final int SHARDS = 2;
    private static final List<String> SERVERS = List.of("db1", "db2");

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    @Test
    void aChangeHasOneIdentity() throws Exception {
        AccountShards shards = AccountShards.createWithLibraries(postgres, 2, SHARDS, directory);
        new ChangeStream(shards.catalogUrl(), server -> shards.url(server.name()), voice -> {}).create();
        for (String server : SERVERS) {
            shards.execute(
                    server, "SELECT pg_create_logical_replication_slot('%s', 'pgoutput')".formatted(Engines.SLOT));
        }
        ShardOrder order = ShardOrder.begin(shards.catalogUrl());
        Map<Integer, List<String>> sent = new TreeMap<>();
        Map<Integer, List<String>> read = new TreeMap<>();
        try (ChangeReader reader =
                ChangeReader.begin(shards.catalogUrl(), server -> shards.url(server.name()), "same")) {
            write(shards, "db1", 0);
            write(shards, "db1", 1);
            Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
            ShardSet moving = ShardSet.of(1);
            Move move =
                    mover.follow(mover.record("db1", "db2", moving, "a test").id());
            write(shards, "db1", 1);
            mover.cutOver(move.id(), moving);
            write(shards, "db2", 1);
            mover.complete(move.id());
            end(shards, "db1", 0);
            end(shards, "db2", 1);

            while (!areComplete(read)) {
                Change change = reader.poll(Duration.ofMinutes(1)).orElseThrow();
                add(
                        read,
                        new EventId(change.id().shard(), change.id().epoch(), change.position(), 0),
                        change.kind() == Change.Kind.DELETE
                                ? "d"
                                : String.valueOf(change.row().get("note")));
            }
        }
        List<AutoCloseable> engines = new ArrayList<>();
        try {
            for (int i = 0; i < SERVERS.size(); i++) {
                engines.add(new EngineThread(
                        ConnectorSettings.of(
                                SERVERS.get(i), postgres.database(i).uri(), Engines.SLOT),
                        record -> take(order, sent, record)));
            }
            synchronized (order) {
                long until = System.nanoTime() + TimeUnit.MINUTES.toNanos(5);
                while (!areComplete(sent) && System.nanoTime() < until) {
                    order.wait(100);
                }
            }
        } finally {
            for (AutoCloseable engine : engines) {
                engine.close();
            }
        }
        assertThat(read.get(0)).hasSizeGreaterThan(8);
        assertThat(read.get(1)).hasSizeGreaterThan(24);
        assertThat(sent).isEqualTo(read);
    }

    private static void take(ShardOrder order, Map<Integer, List<String>> sent, SourceRecord record) {
        synchronized (order) {
            try {
                while (order.take(record) == ShardOrder.Turn.LATER) {
                    order.wait(100);
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            order.id(record).ifPresent(id -> {
                Struct value = (Struct) record.value();
                String what = value.getString("op").equals("d")
                        ? "d"
                        : value.getStruct("after").getString("note");
                add(sent, new EventId(id.shard(), id.epoch(), id.lsn(), 0), what);
            });
            order.notifyAll();
        }
    }

    private static void add(Map<Integer, List<String>> all, EventId id, String what) {
        List<String> its = all.computeIfAbsent(id.shard(), shard -> new ArrayList<>());
        String text = id + " " + what;
        // Debezium's insert of an update of a key, after the deletion.
        if (what.equals("key") && its.get(its.size() - 1).equals(id + " d")) {
            its.set(its.size() - 1, text);
        } else {
            its.add(text);
        }
    }

    private static boolean areComplete(Map<Integer, List<String>> all) {
        return all.size() == SHARDS
                && all.values().stream().allMatch(its -> its.get(its.size() - 1).endsWith(" end"));
    }

    /** Two transactions at once, of which the one that began first commits last; an update of a key, and a COPY. */
    private static void write(AccountShards shards, String server, int shard) throws Exception {
        String table = "shard_%04d.account".formatted(shard);
        try (Connection first = shards.database(server).connect();
                Connection second = shards.database(server).connect()) {
            first.setAutoCommit(false);
            execute(first, "INSERT INTO %s (uid, note) VALUES (%s, 'one'), (%s, 'two')".formatted(table, shard, shard));
            execute(second, "INSERT INTO %s (uid, note) VALUES (%s, 'three')".formatted(table, shard));
            execute(first, "UPDATE %s SET note = 'four' WHERE note = 'one'".formatted(table));
            first.commit();
            execute(second, "DELETE FROM %s WHERE note = 'two'".formatted(table));
            execute(second, "UPDATE %s SET id = DEFAULT, note = 'key' WHERE note = 'three'".formatted(table));
            second.unwrap(PGConnection.class)
                    .getCopyAPI()
                    .copyIn(
                            "COPY %s (uid, note) FROM STDIN".formatted(table),
                            new java.io.StringReader("%1$s\tx\n%1$s\ty\n%1$s\tz\n".formatted(shard)));
        }
    }

    private static void end(AccountShards shards, String server, int shard) throws Exception {
        shards.execute(server, "INSERT INTO shard_%04d.account (uid, note) VALUES (%s, 'end')".formatted(shard, shard));
    }

    private static void execute(Connection connection, String sql) throws Exception {
        try (var statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
