/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A SELECT to be run in many shards by {@link ShardRouter#fetch} and {@link ShardRouter#newest}.
 *
 * <pre>{@code
 * ShardQuery<Photo> photos = ShardQuery.of(
 *         "SELECT id, uid, title FROM ${shard.schema}.photo", row -> new Photo(row.getLong("id"), ...));
 * }</pre>
 *
 * <p>The router puts the shard's schema in place of <code>${shard.schema}</code>, and adds the condition on the id and the
 * order around it, so the SELECT must have a column of the name {@code id} that is an id, one row for each, and no ORDER
 * BY or LIMIT of its own. Immutable.
 *
 * @param <T> what a row becomes
 */
public final class ShardQuery<T> {

    private final String sql;
    private final RowMapper<T> mapper;
    private final List<@Nullable Object> parameters;
    private final Duration deadline;
    private final Access access;

    private ShardQuery(
            String sql, RowMapper<T> mapper, List<@Nullable Object> parameters, Duration deadline, Access access) {
        this.sql = sql;
        this.mapper = mapper;
        this.parameters = parameters;
        this.deadline = deadline;
        this.access = access;
    }

    /**
     * A query with a deadline of 10 seconds.
     *
     * @throws IllegalArgumentException if the SQL does not hold <code>${shard.schema}</code>
     */
    public static <T> ShardQuery<T> of(String sql, RowMapper<T> mapper) {
        if (!sql.contains(ShardTransaction.SCHEMA_PLACEHOLDER)) {
            throw new IllegalArgumentException(
                    "the query does not say where the shard's schema goes; write its tables as %s.photo: %s"
                            .formatted(ShardTransaction.SCHEMA_PLACEHOLDER, sql));
        }
        return new ShardQuery<>(sql, mapper, List.of(), Duration.ofSeconds(10), Access.READ);
    }

    /** The query with values for its question marks, the same in every shard. */
    public ShardQuery<T> bind(@Nullable Object... values) {
        return new ShardQuery<>(
                sql, mapper, Collections.unmodifiableList(Arrays.asList(values.clone())), deadline, access);
    }

    /** The query with another deadline: after it, {@link ScatterException} is thrown and what still runs is cancelled. */
    public ShardQuery<T> deadline(Duration duration) {
        return new ShardQuery<>(sql, mapper, parameters, duration, access);
    }

    /** The query run on replicas, which may be a little behind, where servers have them. */
    public ShardQuery<T> onReplicas() {
        return new ShardQuery<>(sql, mapper, parameters, deadline, Access.REPLICA_READ);
    }

    String sql(String schema) {
        return sql.replace(ShardTransaction.SCHEMA_PLACEHOLDER, schema);
    }

    RowMapper<T> mapper() {
        return mapper;
    }

    List<@Nullable Object> parameters() {
        return parameters;
    }

    Duration deadline() {
        return deadline;
    }

    Access access() {
        return access;
    }
}
