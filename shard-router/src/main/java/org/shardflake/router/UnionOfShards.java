/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.postgresql.PGStatement;
import org.shardflake.router.internal.session.CancellableConnection;

/**
 * Runs a query in the shards of a server, some shards in one statement.
 *
 * @param texts keeps the statements
 * @param query the query; its own mapper is not used
 * @param arm makes what is read in one shard out of the query there
 * @param whole makes the statement out of the arms, a query in parentheses
 * @param values for the question marks that an arm has after those of the query
 */
record UnionOfShards(
        StatementCache texts,
        ShardQuery<?> query,
        UnaryOperator<String> arm,
        UnaryOperator<String> whole,
        List<Object> values) {

    /**
     * The number of shards in one statement: few enough that planning, which grows with each, stays cheap and later statements profit from earlier
     * ones; enough to save round trips.
     */
    static final int SHARDS_A_STATEMENT = 100;

    /** Splits shards into the groups that one statement reads. */
    static List<List<Integer>> parts(List<Integer> shards) {
        List<List<Integer>> parts = new ArrayList<>();
        for (int from = 0; from < shards.size(); from += SHARDS_A_STATEMENT) {
            parts.add(shards.subList(from, Math.min(from + SHARDS_A_STATEMENT, shards.size())));
        }
        return parts;
    }

    /** The rows of all statements. */
    <T> List<T> read(CancellableConnection connection, List<Integer> shards, RowMapper<T> mapper) throws SQLException {
        List<T> rows = new ArrayList<>();
        for (List<Integer> some : parts(shards)) {
            connection.run(() -> {
                try (PreparedStatement statement =
                        connection.connection().prepareStatement(texts.of(query, some, this::text))) {
                    prepareOnServer(statement);
                    bind(statement, some.size());
                    ResultSet row = statement.executeQuery();
                    while (row.next()) {
                        rows.add(mapper.map(row));
                    }
                }
                return rows;
            });
        }
        return rows;
    }

    /**
     * Makes the driver prepare a statement on the server immediately, since planning so many arms takes longer than running them; not if the
     * pool's settings forbid it.
     */
    static void prepareOnServer(PreparedStatement statement) throws SQLException {
        PGStatement driver = statement.unwrap(PGStatement.class);
        if (driver.getPrepareThreshold() > 1) {
            driver.setPrepareThreshold(1);
        }
    }

    private String text(Stream<String> queries) {
        return whole.apply("(" + union(queries.map(sql -> arm.apply("(" + sql + ") AS rows"))) + ")");
    }

    /** Joins the statements of several shards into one. */
    static String union(Stream<String> arms) {
        return arms.collect(Collectors.joining(") UNION ALL (", "(", ")"));
    }

    private void bind(PreparedStatement statement, int arms) throws SQLException {
        int position = 1;
        for (int i = 0; i < arms; i++) {
            position = query.bindTo(statement, position);
            for (Object value : values) {
                statement.setObject(position++, value);
            }
        }
    }
}
