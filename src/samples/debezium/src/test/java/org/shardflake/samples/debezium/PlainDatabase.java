/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.debezium;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Struct;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.cdc.ShardOrder;
import org.shardflake.move.AccountShards;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.server.MoveServer;
import org.shardflake.router.ShardRouter;

/** Has what was read of all shards, with the shard as a column, and how far that is. For one thread at a time. */
final class PlainDatabase {

    static final int SHARDS = 4;

    private final Connection connection;
    private final Set<Integer> ends = new HashSet<>();

    PlainDatabase(Connection connection, ShardOrder order) throws SQLException {
        this.connection = connection;
        execute("DROP SCHEMA IF EXISTS sink CASCADE; CREATE SCHEMA sink");
        execute(
                "CREATE TABLE sink.account (__shard int, id bigint, uid bigint, balance bigint, note text, PRIMARY KEY (__shard, id))");
        execute(
                "CREATE TABLE sink.tag (__shard int, account_id bigint, name text, PRIMARY KEY (__shard, account_id, name))");
        execute("CREATE TABLE sink.state (shards text, offsets text); INSERT INTO sink.state VALUES ('%s', '')"
                .formatted(order));
        connection.setAutoCommit(false);
    }

    /** Applies a change by its key, since Debezium sends some again after it has ended. */
    void change(String table, Struct key, Struct value) throws SQLException {
        List<String> keys = key.schema().fields().stream().map(Field::name).toList();
        if (value.getString("op").equals("d")) {
            String where = keys.stream().map(name -> name + " = ?").collect(Collectors.joining(" AND "));
            try (PreparedStatement statement =
                    connection.prepareStatement("DELETE FROM sink.%s WHERE %s".formatted(table, where))) {
                set(statement, 1, key);
                statement.executeUpdate();
            }
            return;
        }
        Struct row = value.getStruct("after");
        List<String> columns = row.schema().fields().stream().map(Field::name).toList();
        try (PreparedStatement statement = connection.prepareStatement(
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

    /** @param offsets of what was applied, for a consumer that keeps them itself */
    void commit(ShardOrder order, String offsets) throws SQLException {
        execute("UPDATE sink.state SET shards = '%s', offsets = '%s'".formatted(order, offsets));
        connection.commit();
    }

    /** Forgets what was not committed, as the end of a consumer does. */
    void rollBack() throws SQLException {
        connection.rollback();
        ends.removeIf(shard -> !isCommitted(shard));
    }

    private boolean isCommitted(int shard) {
        try {
            return !text(connection, "SELECT count(*) FROM sink.account WHERE note = 'end' AND __shard = " + shard)
                    .equals("0");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    ShardOrder order() throws SQLException {
        return ShardOrder.parse(text(connection, "SELECT shards FROM sink.state"));
    }

    String offsets() throws SQLException {
        return text(connection, "SELECT offsets FROM sink.state");
    }

    boolean isComplete() {
        return ends.size() == SHARDS;
    }

    /** Writes, moves shards there and back with a reverse in between, and ends with the row that {@link #isComplete} waits for. */
    static void work(ShardRouter router, AccountShards shards, int rounds, Runnable eachRound) throws Exception {
        AtomicBoolean written = new AtomicBoolean();
        List<Thread> writers = List.of(writer(router, written), writer(router, written));
        AtomicBoolean failed = new AtomicBoolean();
        writers.forEach(writer -> writer.setUncaughtExceptionHandler((thread, e) -> {
            e.printStackTrace();
            failed.set(true);
        }));
        writers.forEach(Thread::start);
        try {
            Mover mover = new Mover(
                    shards.catalogUrl(),
                    name -> new MoveServer(name, shards.url(name)),
                    MoveSettings.DEFAULT,
                    new MoveListener() {});
            for (int round = 0; round < rounds; round++) {
                boolean isThere = round % 2 == 1;
                ShardSet moving = ShardSet.parse("1,2");
                Move move = mover.record(isThere ? "db2" : "db1", isThere ? "db1" : "db2", moving, "a test");
                mover.follow(move.id());
                mover.cutOver(move.id(), moving);
                ShardSet back = ShardSet.parse("2");
                mover.reverse(move.id(), back);
                mover.cutOver(move.id(), back);
                mover.complete(move.id());
                eachRound.run();
            }
        } finally {
            written.set(true);
        }
        for (Thread writer : writers) {
            writer.join(TimeUnit.MINUTES.toMillis(5));
            assertThat(writer.isAlive()).isFalse();
        }
        assertThat(failed).isFalse();
        for (int shard = 0; shard < SHARDS; shard++) {
            run(router, shard, "INSERT INTO ${shard.schema}.account (uid, note) VALUES (%s, 'end')".formatted(shard));
        }
    }

    private static Thread writer(ShardRouter router, AtomicBoolean written) {
        return new Thread(() -> {
            try {
                write(router, written);
            } catch (SQLException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private static void write(ShardRouter router, AtomicBoolean written) throws SQLException, InterruptedException {
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
    }

    private static void run(ShardRouter router, int shard, String sql) throws SQLException {
        router.run((long) shard, tx -> {
            try (Statement statement = tx.connection().createStatement()) {
                statement.execute(tx.sql(sql));
            }
        });
    }

    /** Compares all rows with those of the shards. */
    void compare(AccountShards shards) throws SQLException {
        ShardMap map = shards.catalog().load();
        Map<String, String> columns = Map.of("account", "id, uid, balance, note", "tag", "account_id, name");
        for (int shard = 0; shard < SHARDS; shard++) {
            try (Connection there = shards.url(map.server(shard).name()).connect("a test")) {
                for (Map.Entry<String, String> table : columns.entrySet()) {
                    String hash =
                            "SELECT count(*) || ' rows ' || COALESCE(md5(string_agg(t::text, '' ORDER BY t::text)), '') FROM (SELECT %s FROM %s) t";
                    assertThat(text(
                                    connection,
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
        assertThat(Long.parseLong(text(connection, "SELECT count(*) FROM sink.account")))
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
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
