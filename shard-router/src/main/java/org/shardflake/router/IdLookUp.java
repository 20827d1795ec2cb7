/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGStatement;
import org.shardflake.Sharding;

/** Looks up ids of many shards in one statement per server, with an arm of a UNION ALL for each shard. */
final class IdLookUp<T> {

    private final ShardQuery<T> query;
    private final Map<Integer, List<Long>> idsByShard;

    IdLookUp(ShardQuery<T> query, Map<Integer, List<Long>> idsByShard) {
        this.query = query;
        this.idsByShard = idsByShard;
    }

    /** The rows by id. */
    Map<Long, T> read(Connection connection, List<Integer> shards, long end) throws SQLException {
        String sql = shards.stream().map(this::arm).collect(Collectors.joining(" UNION ALL "));
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            // Hardly the same ids again: not worth a prepared statement on the server.
            statement.unwrap(PGStatement.class).setPrepareThreshold(0);
            statement.setQueryTimeout(ManyShards.secondsUntil(end));
            int position = 1;
            for (int arm = 0; arm < shards.size(); arm++) {
                for (@Nullable Object value : query.parameters()) {
                    statement.setObject(position++, value);
                }
            }
            return read(statement);
        }
    }

    private Map<Long, T> read(PreparedStatement statement) throws SQLException {
        Map<Long, T> rows = new HashMap<>();
        try (ResultSet row = statement.executeQuery()) {
            while (row.next()) {
                rows.put(row.getLong("id"), query.mapper().map(row));
            }
        }
        return rows;
    }

    private String arm(int shard) {
        List<Long> ids = idsByShard.getOrDefault(shard, List.of());
        return "SELECT * FROM (%s) AS rows WHERE id = ANY ('{%s}'::bigint[])"
                .formatted(
                        query.sql(Sharding.schema(shard)),
                        ids.stream().map(String::valueOf).collect(Collectors.joining(",")));
    }
}
