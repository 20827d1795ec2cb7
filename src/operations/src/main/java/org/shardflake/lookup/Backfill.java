/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.Sharding;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.Lookup;
import org.shardflake.router.LookupBusyException;
import org.shardflake.router.LookupTakenException;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;
import org.shardflake.router.exception.CrossShardException;
import org.shardflake.server.SqlText;

/**
 * Claims the values of existing rows, one transaction per row, which locks the row. The application writes meanwhile: what it has claimed is
 * left alone, and a row that it changes is read afterwards.
 */
final class Backfill {

    private static final int PAGE = 500;
    private static final int REASONS = 20;

    private final LookupCatalog catalog;
    private final LookupDefinition lookup;
    private final LookupDefinition.Source source;
    private final ShardRouter router;
    private final OpenWriters writers;
    private final Lookup values;
    private final RateLimiter pace;
    private final IntConsumer done;
    private final AtomicBoolean isStopped = new AtomicBoolean();
    private final List<String> reasons = new ArrayList<>();

    Backfill(
            LookupCatalog catalog,
            LookupDefinition lookup,
            LookupDefinition.Source source,
            ShardRouter router,
            OpenWriters writers,
            int rowsPerSecond,
            IntConsumer done) {
        this.catalog = catalog;
        this.lookup = lookup;
        this.source = source;
        this.router = router;
        this.writers = writers;
        this.values = router.lookup(lookup.name());
        this.pace = new RateLimiter(rowsPerSecond);
        this.done = done;
    }

    /** The reasons why rows were refused, for the first of them. */
    List<String> reasons() {
        synchronized (reasons) {
            return List.copyOf(reasons);
        }
    }

    /** Makes all threads stop after their current rows. */
    void stop() {
        isStopped.set(true);
    }

    /** Continues where an earlier run stopped, according to the catalog. */
    void run(int shard) throws SQLException {
        LookupCatalog.Progress progress = catalog.progress(lookup.number(), shard)
                .orElse(new LookupCatalog.Progress(Long.MIN_VALUE, 0, 0, false));
        if (!progress.isDone()) {
            // A row that was written before the lookup was there has no claim, and is not seen before its commit.
            writers.await(shard, source.table());
        }
        while (!progress.isDone() && !isStopped.get()) {
            List<Long> ids = page(shard, progress.lastId());
            long claimed = progress.claimed();
            long refused = progress.refused();
            for (long id : ids) {
                pace.next();
                Optional<String> reason = claim(shard, id);
                if (reason.isPresent()) {
                    refused++;
                    add(reason.get());
                } else {
                    claimed++;
                }
            }
            progress = new LookupCatalog.Progress(
                    ids.isEmpty() ? progress.lastId() : ids.get(ids.size() - 1), claimed, refused, ids.size() < PAGE);
            catalog.record(lookup.number(), shard, progress);
            done.accept(ids.size());
        }
    }

    /** Reads a page of rows; the first page starts at the lowest number. */
    private List<Long> page(int shard, long after) throws SQLException {
        String sql = "SELECT %3$s FROM %1$s.%2$s WHERE %3$s > ? AND %4$s IS NOT NULL ORDER BY %3$s LIMIT %5$s"
                .formatted(
                        Sharding.schema(shard),
                        SqlText.name(source.table()),
                        SqlText.name(source.idColumn()),
                        SqlText.name(source.column()),
                        PAGE);
        // A write, whose commit asks whether the shard is still here: a read may be of a copy that was left behind.
        return router.<List<Long>, SQLException>write(
                ShardKey.shard(shard),
                tx -> ShardReads.run(tx, () -> Sql.list(tx.connection(), sql, row -> row.getLong(1), after)));
    }

    private record Row(@Nullable Long uid, @Nullable String value) {}

    /** Claims a row's value; returns the reason if the row cannot be found by it. */
    private Optional<String> claim(int shard, long id) throws SQLException {
        try {
            router.<SQLException>run(ShardKey.shard(shard), tx -> claim(tx, id));
            return Optional.empty();
        } catch (LookupTakenException | LookupBusyException e) {
            return Optional.of("row %s of shard %s: %s".formatted(id, shard, e.getMessage()));
        } catch (CrossShardException | IllegalArgumentException e) {
            return Optional.of("row %s of shard %s cannot be found: %s".formatted(id, shard, e.getMessage()));
        }
    }

    private void claim(ShardTransaction tx, long id) throws SQLException {
        Connection connection = tx.connection();
        String sql = "SELECT %s, %s::text FROM %s.%s WHERE %s = ? FOR UPDATE"
                .formatted(
                        SqlText.name(source.uidColumn()),
                        SqlText.name(source.column()),
                        tx.schema(),
                        SqlText.name(source.table()),
                        SqlText.name(source.idColumn()));
        List<Row> rows = ShardReads.run(
                tx, () -> Sql.list(connection, sql, column -> new Row(uid(column), column.getString(2)), id));
        for (Row row : rows) {
            if (row.value() != null) {
                if (row.uid() == null) {
                    throw new IllegalArgumentException("it has no uid");
                }
                values.claim(row.value(), row.uid(), id);
            }
        }
    }

    private static @Nullable Long uid(ResultSet row) throws SQLException {
        long uid = row.getLong(1);
        return row.wasNull() ? null : uid;
    }

    private void add(String reason) {
        synchronized (reasons) {
            if (reasons.size() < REASONS) {
                reasons.add(reason);
            }
        }
    }
}
