/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.postgresql.PGStatement;
import org.shardflake.Sharding;
import org.shardflake.router.internal.session.CancellableConnection;

/** Looks up ids of many shards in one statement per server, with an arm of a UNION ALL for each shard. */
final class IdLookUp<T> {

    private final ShardQuery<T> query;
    private final Map<Integer, List<Long>> idsByShard;

    IdLookUp(ShardQuery<T> query, Map<Integer, List<Long>> idsByShard) {
        this.query = query;
        this.idsByShard = idsByShard;
    }

    /** Reads the rows, by id. */
    Map<Long, T> read(CancellableConnection connection, List<Integer> shards) throws SQLException {
        String sql = shards.stream().map(this::arm).collect(Collectors.joining(" UNION ALL "));
        return connection.run(() -> query.isColumnsOfATable()
                ? readOnce(connection.connection(), sql)
                : readPrepared(connection.connection(), sql, shards));
    }

    /** Runs the look-up unprepared: the same ids rarely recur, and a prepared statement would evict a useful one from the driver's cache. */
    private Map<Long, T> readOnce(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return rows(statement.executeQuery(sql));
        }
    }

    private Map<Long, T> readPrepared(Connection connection, String sql, List<Integer> shards) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.unwrap(PGStatement.class).setPrepareThreshold(0);
            int position = 1;
            for (int arm = 0; arm < shards.size(); arm++) {
                position = query.bindTo(statement, position);
            }
            return rows(statement.executeQuery());
        }
    }

    private Map<Long, T> rows(ResultSet result) throws SQLException {
        Map<Long, T> rows = new HashMap<>();
        try (ResultSet row = result) {
            while (row.next()) {
                rows.put(row.getLong("id"), query.mapper().map(row));
            }
        }
        return rows;
    }

    private String arm(int shard) {
        List<Long> ids = idsByShard.getOrDefault(shard, List.of());
        String numbers = ids.stream().map(String::valueOf).collect(Collectors.joining(","));
        return query.openSql(Sharding.schema(shard))
                + (ids.size() == 1
                        ? " WHERE id OPERATOR(pg_catalog.=) " + numbers
                        : " WHERE id OPERATOR(pg_catalog.=) ANY ('{" + numbers + "}'::bigint[])");
    }
}
