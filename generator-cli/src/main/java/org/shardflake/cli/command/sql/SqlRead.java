/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.sql;

import java.io.PrintWriter;
import java.io.Serial;
import java.math.BigDecimal;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.RowsWriter;
import org.shardflake.jdbc.Plural;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.UnreadShards;

/** Runs a query over shards, and passes the rows to a writer. */
final class SqlRead {

    private final ShardRouter router;
    private final ShardSet shards;
    private final Duration deadline;
    private final boolean partial;
    private List<UnreadShards> missing = List.of();

    SqlRead(ShardRouter router, ShardSet shards, Duration deadline, boolean partial) {
        this.router = router;
        this.shards = shards;
        this.deadline = deadline;
        this.partial = partial;
    }

    /** Thrown to end a read that has all the rows it needs. */
    private static final class EnoughException extends RuntimeException {

        @Serial
        private static final long serialVersionUID = 1L;

        EnoughException() {
            super("enough rows", null, false, false);
        }
    }

    private record Row(List<String> columns, List<@Nullable Object> values) {}

    void rows(String sql, boolean withShard, @Nullable Long limit, RowsWriter rows) {
        try {
            run(sql, (row, shard) -> {
                if (withShard) {
                    rows.row(before("shard", row.columns()), before(shard, row.values()));
                } else {
                    rows.row(row.columns(), row.values());
                }
                if (limit != null && rows.written() >= limit) {
                    throw new EnoughException();
                }
            });
        } catch (EnoughException e) {
            return; // Shards that were not read are not missing: nobody wanted their rows.
        }
        if (rows.lacksHeader()) {
            ShardSet unread = ShardSet.of(missing.stream()
                    .flatMap(some -> some.shards().stream().boxed())
                    .toList());
            shards.stream()
                    .filter(shard -> !unread.contains(shard))
                    .findFirst()
                    .ifPresent(shard -> header(sql, withShard, shard, rows));
        }
    }

    /** Reads the columns from a shard, with a query that returns an empty row. */
    private void header(String sql, boolean withShard, int shard, RowsWriter rows) {
        String nothing = "SELECT rows.* FROM (VALUES (1)) AS one LEFT JOIN (%s\n) AS rows ON false".formatted(sql);
        router.forEachRow(
                ShardQuery.unqualified(nothing, SqlRead::row)
                        .over(ShardSet.of(shard))
                        .deadline(deadline),
                (row, its) -> rows.header(withShard ? before("shard", row.columns()) : row.columns()));
    }

    /** Adds up the single number that a query returns in each shard, or prints each shard's number. */
    void total(String sql, String name, boolean withShard, RowsWriter rows) {
        @Nullable BigDecimal[] sum = {null};
        run(sql, (row, shard) -> {
            Object value = row.values().get(0);
            if (withShard) {
                rows.row(List.of("shard", name), Arrays.asList(shard, value));
            } else if (value != null) {
                BigDecimal number = number(value);
                sum[0] = sum[0] == null ? number : sum[0].add(number);
            }
        });
        if (!withShard) {
            rows.row(List.of(name), Collections.singletonList(sum[0] == null ? null : sum[0].toPlainString()));
        }
    }

    private static BigDecimal number(Object value) {
        try {
            return new BigDecimal(value.toString());
        } catch (NumberFormatException e) {
            throw new ShardflakeException(
                    ShardflakeException.Kind.USAGE,
                    "the sum of a shard is %s, which is not a number".formatted(value),
                    "--sum takes integers and numeric values",
                    null);
        }
    }

    private interface RowAction {
        void accept(Row row, int shard);
    }

    private void run(String sql, RowAction action) {
        ShardQuery<Row> query =
                ShardQuery.unqualified(sql, SqlRead::row).over(shards).deadline(deadline);
        missing = router.forEachRow(partial ? query.collectFailures() : query, action::accept);
    }

    private static Row row(ResultSet row) throws SQLException {
        ResultSetMetaData about = row.getMetaData();
        int columns = about.getColumnCount() - 1; // The last is the router's.
        List<String> names = new ArrayList<>();
        List<@Nullable Object> values = new ArrayList<>();
        for (int i = 0; i < columns; i++) {
            names.add(about.getColumnLabel(i + 1));
            values.add(value(row, i + 1, about.getColumnTypeName(i + 1)));
        }
        return new Row(names, values);
    }

    /** A value for JSON: as text if a number could lose digits, as ids would. */
    private static @Nullable Object value(ResultSet row, int column, String type) throws SQLException {
        if (row.getObject(column) == null) {
            return null;
        }
        return switch (type) {
            case "int2", "int4" -> row.getInt(column);
            case "bool" -> row.getBoolean(column);
            default -> row.getString(column);
        };
    }

    private static <T extends @Nullable Object> List<T> before(T first, List<? extends T> others) {
        List<T> all = new ArrayList<>();
        all.add(first);
        all.addAll(others);
        return all;
    }

    /** Reports the missing shards; returns the exit code. */
    int tellMissing(PrintWriter err) {
        missing.forEach(unread -> err.printf(
                "warning: rows of %s are missing, %s of %s: %s%n",
                Amounts.shards(unread.shards().size()),
                Plural.shards(unread.shards()),
                unread.server(),
                unread.cause().getMessage()));
        return missing.isEmpty() ? ExitCodes.OK : ExitCodes.PARTLY_DONE;
    }
}
