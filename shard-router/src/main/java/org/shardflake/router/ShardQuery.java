/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.apiguardian.api.API.Status.EXPERIMENTAL;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.regex.Pattern;
import org.apiguardian.api.API;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.router.exception.ScatterException;
import org.shardflake.router.internal.pool.Access;

/**
 * A SELECT that {@link ShardRouter#fetch} and {@link ShardRouter#newest} run in many shards.
 *
 * <pre>{@code
 * ShardQuery<Photo> photos = ShardQuery.of(
 *         "SELECT id, uid, title FROM ${shard.schema}.photo", row -> new Photo(row.getLong("id"), ...));
 * }</pre>
 *
 * <p>The router puts the shard's schema in place of <code>${shard.schema}</code>, and adds the condition on the id and
 * the order around it, so the SELECT must have a column {@code id} of Shardflake ids, one row for each id, and no ORDER
 * BY or LIMIT of its own. Immutable.
 *
 * @param <T> the type that a row is mapped to
 */
public final class ShardQuery<T> {

    private static final String NAME = "(?:\\w+|\"\\w+\")";
    private static final String COLUMN = "(?:(?:\\$\\{shard\\.schema}\\.)?" + NAME + "\\.)?" + NAME;
    /** Matches a query that selects plain columns of one table and ends there, so that an appended WHERE can refer to them. */
    private static final Pattern COLUMNS_OF_A_TABLE = Pattern.compile(
            "\\s*SELECT\\s+%1$s(?:\\s*,\\s*%1$s)*+\\s+FROM\\s+\\$\\{shard\\.schema}\\.%2$s\\s*".formatted(COLUMN, NAME),
            Pattern.CASE_INSENSITIVE);

    private static final Pattern ID_AMONG_THEM =
            Pattern.compile("(?i:SELECT\\s+|,\\s*)(?:[^,\\s]*\\.)?(?:(?i:id)|\"id\")\\s*(?:,|(?i:FROM)\\b)");

    private final String sql;
    private final boolean columnsOfATable;
    private final RowMapper<T> mapper;
    private final List<@Nullable Object> parameters;
    private final Duration deadline;
    private final Access access;
    private final @Nullable ShardSet shards;
    private final boolean collectsFailures;

    private ShardQuery(
            String sql,
            boolean columnsOfATable,
            RowMapper<T> mapper,
            List<@Nullable Object> parameters,
            Duration deadline,
            Access access,
            @Nullable ShardSet shards,
            boolean collectsFailures) {
        this.sql = sql;
        this.columnsOfATable = columnsOfATable;
        this.mapper = mapper;
        this.parameters = parameters;
        this.deadline = deadline;
        this.access = access;
        this.shards = shards;
        this.collectsFailures = collectsFailures;
    }

    private static <T> ShardQuery<T> create(String sql, boolean columnsOfATable, RowMapper<T> mapper) {
        String whole =
                sql.contains("--") ? sql + "\n" : sql; // A comment at the end would hide what follows in a larger text.
        return new ShardQuery<>(
                whole, columnsOfATable, mapper, List.of(), Duration.ofSeconds(10), Access.READ, null, false);
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
        boolean columnsOfATable = COLUMNS_OF_A_TABLE.matcher(sql).matches()
                && ID_AMONG_THEM.matcher(sql).find();
        return create(sql, columnsOfATable, mapper);
    }

    /**
     * A query for {@link ShardRouter#forEachRow} alone, with a deadline of 10 seconds, whose tables without a schema are those of the shard.
     */
    @API(status = EXPERIMENTAL)
    public static <T> ShardQuery<T> unqualified(String sql, RowMapper<T> mapper) {
        return create(sql, false, mapper);
    }

    /** The query with values for its question marks, the same in every shard. */
    public ShardQuery<T> bind(@Nullable Object... values) {
        return new ShardQuery<>(
                sql,
                columnsOfATable,
                mapper,
                Collections.unmodifiableList(Arrays.asList(values.clone())),
                deadline,
                access,
                shards,
                collectsFailures);
    }

    /**
     * The query with another deadline, after which {@link ScatterException} is thrown and running statements are
     * cancelled.
     */
    public ShardQuery<T> deadline(Duration duration) {
        return new ShardQuery<>(sql, columnsOfATable, mapper, parameters, duration, access, shards, collectsFailures);
    }

    /** The query, run on replicas where servers have them; replicas may lag a little. */
    public ShardQuery<T> onReplicas() {
        return new ShardQuery<>(
                sql, columnsOfATable, mapper, parameters, deadline, Access.REPLICA_READ, shards, collectsFailures);
    }

    /** The query limited to some shards; {@link ShardRouter#fetch} chooses shards by its ids instead. */
    public ShardQuery<T> over(ShardSet some) {
        return new ShardQuery<>(sql, columnsOfATable, mapper, parameters, deadline, access, some, collectsFailures);
    }

    /** The query with failures collected: {@link ShardRouter#forEachRow} skips the shards of servers that fail, and returns those shards. */
    public ShardQuery<T> collectFailures() {
        return new ShardQuery<>(sql, columnsOfATable, mapper, parameters, deadline, access, shards, true);
    }

    /** The query's text, with the placeholder for the schema. */
    String template() {
        return sql;
    }

    String sql(String schema) {
        return sql.replace(ShardTransaction.SCHEMA_PLACEHOLDER, schema);
    }

    /** Whether the query's text marks where the shard's schema goes. */
    boolean namesSchema() {
        return sql.contains(ShardTransaction.SCHEMA_PLACEHOLDER);
    }

    /** The query in a shard, ready for {@code WHERE} and a condition on the column {@code id}. */
    String openSql(String schema) {
        String inShard = sql(schema);
        // PostgreSQL plans an arm without a subquery faster, and looking up ids takes little but planning.
        return columnsOfATable ? inShard : "SELECT * FROM (" + inShard + ") AS rows";
    }

    /**
     * Whether the query is known to select only columns of one table, so that it has no question mark, neither as a parameter nor as an
     * operator.
     */
    boolean isColumnsOfATable() {
        return columnsOfATable && parameters.isEmpty();
    }

    boolean hasParameters() {
        return !parameters.isEmpty();
    }

    @Nullable
    ShardSet shards() {
        return shards;
    }

    boolean collectsFailures() {
        return collectsFailures;
    }

    RowMapper<T> mapper() {
        return mapper;
    }

    /**
     * Binds the parameters from a position on.
     *
     * @return the position after them
     */
    int bindTo(PreparedStatement statement, int first) throws SQLException {
        int position = first;
        for (@Nullable Object value : parameters) {
            statement.setObject(position++, value);
        }
        return position;
    }

    Duration deadline() {
        return deadline;
    }

    Access access() {
        return access;
    }
}
