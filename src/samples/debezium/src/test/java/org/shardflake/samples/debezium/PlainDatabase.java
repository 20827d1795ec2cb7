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
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Struct;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.cdc.EventId;
import org.shardflake.cdc.ShardOrder;
import org.shardflake.move.AccountShards;

/**
 * A plain database with the rows of all shards, the shard as a column, and the state of its consumer. It applies each change once, by its identity, and refuses
 * an insert of a row that is there, an update or deletion of one that is not, and an update of an account in another state. Consumers that are killed
 * open it again. For one thread at a time.
 */
final class PlainDatabase {

    static final int SHARDS = 8;

    private final Connection connection;
    private final Set<Integer> ends = new HashSet<>();
    private final Map<String, Integer> counts = new TreeMap<>();
    private String stored = "";
    private int commits;

    /** Opens one that {@link #create} made. */
    PlainDatabase(Connection connection) throws SQLException {
        this.connection = connection;
        connection.setAutoCommit(false);
        rollBack();
    }

    static PlainDatabase create(Connection connection, ShardOrder order) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP SCHEMA IF EXISTS sink CASCADE; CREATE SCHEMA sink");
            statement.execute(
                    "CREATE TABLE sink.account (__shard int, id bigint, uid bigint, balance bigint, note text, PRIMARY KEY (__shard, id))");
            statement.execute(
                    "CREATE TABLE sink.tag (__shard int, account_id bigint, name text, PRIMARY KEY (__shard, account_id, name))");
            statement.execute("CREATE TABLE sink.seen (id text, change text, PRIMARY KEY (id, change))");
            statement.execute("CREATE TABLE sink.count (what text PRIMARY KEY, number bigint)");
            statement.execute(
                    "CREATE TABLE sink.state (shards text, offsets text); INSERT INTO sink.state VALUES ('%s', '')"
                            .formatted(order));
        }
        return new PlainDatabase(connection);
    }

    /** Applies a change, unless it was applied before: Debezium sends some again after it has ended. */
    void change(EventId id, String table, Struct key, Struct value) throws SQLException {
        String op = value.getString("op");
        // Rows of one COPY share an identity, and an update of a key is two records.
        if (update(
                        "INSERT INTO sink.seen VALUES (?, ?) ON CONFLICT DO NOTHING",
                        List.of(id.toString(), "%s %s %s".formatted(op, table, key)))
                == 0) {
            count("sent again");
            return;
        }
        count("applied");
        String where = key.schema().fields().stream()
                .map(field -> field.name() + " = ?")
                .collect(Collectors.joining(" AND "));
        int changed;
        if (op.equals("d")) {
            changed = update("DELETE FROM sink.%s WHERE %s".formatted(table, where), values(key));
        } else {
            Struct row = value.getStruct("after");
            List<Object> values = values(row);
            if (op.equals("c")) {
                values.add(key.get("__shard"));
                changed = update(
                        "INSERT INTO sink.%s (%s, __shard) VALUES (?%s)"
                                .formatted(table, names(row), ", ?".repeat(values.size() - 1)),
                        values);
            } else {
                // Each update of an account adds one to its balance.
                values.addAll(values(key));
                values.add(row.getInt64("balance"));
                changed = update(
                        "UPDATE sink.%s SET (%s) = ROW (?%s) WHERE %s AND balance = ? - 1"
                                .formatted(
                                        table,
                                        names(row),
                                        ", ?".repeat(row.schema().fields().size() - 1),
                                        where),
                        values);
            }
            if (table.equals("account") && "end".equals(row.get("note"))) {
                ends.add(key.getInt32("__shard"));
            }
        }
        assertThat(changed).as("rows of %s %s, %s", op, id, value).isEqualTo(1);
    }

    private static String names(Struct row) {
        return row.schema().fields().stream().map(Field::name).collect(Collectors.joining(", "));
    }

    private static List<Object> values(Struct row) {
        List<Object> values = new ArrayList<>();
        row.schema().fields().forEach(field -> values.add(row.get(field)));
        return values;
    }

    private int update(String sql, List<?> values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < values.size(); i++) {
                statement.setObject(i + 1, values.get(i));
            }
            return statement.executeUpdate();
        }
    }

    /** Counts something, for the report at the end. */
    void count(String what) {
        counts.merge(what, 1, Integer::sum);
    }

    /** @param offsets of what was applied, for a consumer that keeps them itself */
    void commit(ShardOrder order, String offsets) throws SQLException {
        if (!order.toString().equals(stored) || !offsets.isEmpty()) {
            execute("UPDATE sink.state SET shards = '%s', offsets = '%s'".formatted(order, offsets));
        }
        if (++commits % 100 == 0 || isComplete()) {
            for (Map.Entry<String, Integer> count : counts.entrySet()) {
                execute(
                        "INSERT INTO sink.count AS c VALUES ('%s', %s) ON CONFLICT (what) DO UPDATE SET number = c.number + excluded.number"
                                .formatted(count.getKey(), count.getValue()));
            }
            counts.clear();
        }
        connection.commit();
        stored = order.toString();
    }

    /** Forgets what was not committed, as the end of a consumer does. */
    void rollBack() throws SQLException {
        connection.rollback();
        stored = "";
        ends.clear();
        try (Statement statement = connection.createStatement();
                ResultSet row =
                        statement.executeQuery("SELECT DISTINCT __shard FROM sink.account WHERE note = 'end'")) {
            while (row.next()) {
                ends.add(row.getInt(1));
            }
        }
    }

    /** What was counted. */
    String counts() throws SQLException {
        return text(connection, "SELECT string_agg(number || ' ' || what, ', ' ORDER BY what) FROM sink.count");
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
