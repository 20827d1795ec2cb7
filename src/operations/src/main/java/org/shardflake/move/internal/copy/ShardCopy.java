/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.copy;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.shardflake.Sharding;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.InParallel;
import org.shardflake.jdbc.Sql;

/**
 * Copies the rows of shards over two connections. For one thread.
 *
 * <p>A shard is copied in one transaction: existing rows are truncated, so it can be restarted; rows are written frozen, and indexes
 * of a large shard are built after its rows are in.
 */
public final class ShardCopy {

    /** The size of a shard's tables, in bytes, from which copying without indexes and building them afterwards is faster. */
    private static final long LARGE = 1 << 20;

    private static final String TABLES = """
            SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = ? AND c.relkind IN ('r', 'p')
            """;

    private final Connection source;
    private final Connection target;
    private final TableCopy rows;

    /**
     * A copy over these connections, which remain the caller's.
     *
     * @param source in a transaction that sees what to copy
     * @param target in auto-commit mode
     */
    public ShardCopy(Connection source, Connection target, CopyThrottle throttle) {
        this.source = source;
        this.target = target;
        this.rows = new TableCopy(source, target, throttle);
    }

    /**
     * Copies the rows of a shard.
     *
     * @param bytes approximate size of its tables on the source
     * @param lacksIndexes whether a copy in parts has left it without
     */
    public void copy(
            int shard,
            long bytes,
            List<String> tables,
            boolean lacksIndexes,
            String checkClaim,
            TableCopy.Progress progress)
            throws SQLException {
        target.setAutoCommit(false);
        try {
            // The first setting is for ANALYZE too.
            Sql.execute(target, checkClaim + "SET synchronous_commit = off; " + DeferredIndexes.MEMORY);
            Deque<String> builds = new ArrayDeque<>();
            silenceTriggers(shard, builds);
            empty(target, shard);
            if (bytes >= LARGE) {
                takeAway(DeferredIndexes.indexes(target, shard), builds);
            }
            List<TableCopy.Table> its = new ArrayList<>();
            for (String table : tables) {
                its.add(rows.table(table));
            }
            boolean isBuiltLast = !builds.isEmpty();
            double work = its.stream()
                    .mapToDouble(table -> table.work() + (isBuiltLast ? table.workOfIndexes() : 0))
                    .sum();
            for (TableCopy.Table table : its) {
                rows.copyFrozen(table, Math.round(bytes * table.work() / work), progress);
            }
            for (String build : builds) {
                Sql.execute(target, build);
            }
            if (lacksIndexes) {
                DeferredIndexes.buildMissing(source, target, shard);
            }
            target.commit();
        } catch (SQLException | RuntimeException e) {
            rollback(e);
            DeferredIndexes.explainBroken(e, shard);
            throw e;
        }
        target.setAutoCommit(true);
        if (!tables.isEmpty()) {
            // After the commit, without which autovacuum would soon repeat it.
            Sql.execute(target, "ANALYZE " + String.join(", ", tables));
        }
    }

    /**
     * Removes all rows of a shard. All its tables at once, partitioned ones too: a table that a foreign key refers to can only be truncated
     * together with the one that has the key, and of two partitioned tables that is not a partition.
     */
    static void empty(Connection target, int shard) throws SQLException {
        List<String> tables = Sql.list(target, TABLES, row -> row.getString(1), Sharding.schema(shard));
        if (!tables.isEmpty()) {
            Sql.execute(target, "TRUNCATE " + String.join(", ", tables));
        }
    }

    /** Whether the target has exactly the source's rows in these tables. Reading them takes a fraction of the time of writing them. */
    public boolean isThere(List<String> tables) throws SQLException {
        for (String table : tables) {
            Rows rows = Rows.of(source, target, table);
            if (!InParallel.both(source, target, rows::digest).areEqual()) {
                return false;
            }
        }
        return true;
    }

    /**
     * Keeps fences and other triggers from firing, as in replication, including those of foreign keys. Where the role may not say so for its session,
     * the triggers are disabled and the shard's foreign keys dropped, until the rows are in; only then does anybody see the tables.
     */
    private void silenceTriggers(int shard, Deque<String> builds) throws SQLException {
        Savepoint before = target.setSavepoint();
        try {
            Sql.execute(target, "SET LOCAL session_replication_role = replica");
        } catch (SQLException e) {
            if (!Sql.isNotAllowed(e)) {
                throw e;
            }
            target.rollback(before);
            takeAway(DeferredIndexes.firing(target, shard), builds);
        }
    }

    /** Drops indexes and constraints, and queues the statements that restore them, in reverse order. */
    private void takeAway(List<DeferredIndexes.Late> some, Deque<String> builds) throws SQLException {
        for (DeferredIndexes.Late late : some) {
            Sql.execute(target, late.drop());
            builds.push(late.build());
        }
    }

    private void rollback(Exception failure) {
        try {
            target.rollback();
            target.setAutoCommit(true);
        } catch (SQLException e) {
            failure.addSuppressed(e);
        }
    }
}
