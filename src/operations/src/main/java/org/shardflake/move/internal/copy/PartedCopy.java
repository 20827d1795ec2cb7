/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.copy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.shardflake.compare.Rows;
import org.shardflake.compare.Rows.Digest;
import org.shardflake.grants.OwnersCode;
import org.shardflake.jdbc.InParallel;
import org.shardflake.jdbc.Sql;

/**
 * Copies shards with a large table in parts, each part in its own transaction, over any of several connections. For one thread.
 *
 * <p>An interrupted copy keeps the parts that have the rows of the next snapshot, too. Until all parts are there, the shard, which is
 * fenced, lacks its indexes, and rows are not frozen, which only the transaction that truncates a table can do.
 */
public final class PartedCopy {

    private static final String AS_REPLICATION = "SET LOCAL session_replication_role = replica";

    private static final String IS_REFERENCED =
            "SELECT EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND confrelid = ?::regclass AND conrelid <> confrelid)";

    private final Connection source;
    private final Connection target;
    private final TableCopy rows;
    private final String checkClaim;

    /** A part of a table that has to be copied. */
    public record Part(SplitTable table, int number, TableCopy.Share share) {}

    /** A shard with the parts that are left to copy. */
    public static final class PartedShard {

        private final int number;
        private final List<SplitTable> tables;
        private final List<Part> parts = new ArrayList<>();
        private final AtomicInteger left = new AtomicInteger();

        private PartedShard(int number, List<SplitTable> tables) {
            this.number = number;
            this.tables = tables;
        }

        /** The parts that are left to copy. */
        public List<Part> parts() {
            return parts;
        }

        /** Notes that a part has been copied; returns whether it was the last one. */
        public boolean countDown() {
            return left.decrementAndGet() == 0;
        }
    }

    /**
     * A copy over these connections, which remain the caller's.
     *
     * @param source in a transaction that sees what to copy
     * @param target in auto-commit mode
     */
    public PartedCopy(Connection source, Connection target, CopyThrottle throttle, String checkClaim) {
        this.source = source;
        this.target = target;
        this.rows = new TableCopy(source, target, throttle);
        this.checkClaim = checkClaim;
    }

    /**
     * Whether a shard is copied in parts: a table has several, and the target allows this role to write as replication does. Otherwise triggers
     * would have to be disabled for as long as an interrupted move waits to be continued.
     */
    public boolean isParted(List<SplitTable> tables) throws SQLException {
        return tables.stream().anyMatch(table -> table.parts() > 1) && mayActAsReplication();
    }

    private boolean mayActAsReplication() throws SQLException {
        try {
            return Sql.inTransaction(target, () -> {
                Sql.execute(target, AS_REPLICATION);
                return true;
            });
        } catch (SQLException e) {
            if (Sql.isNotAllowed(e)) {
                return false;
            }
            throw e;
        }
    }

    /** The tables of a shard, each in parts of about this size, or as one part. */
    public List<SplitTable> split(List<String> tables, long partSize) throws SQLException {
        List<SplitTable> split = new ArrayList<>();
        for (String table : tables) {
            split.add(SplitTable.of(source, rows.table(table), partSize));
        }
        return split;
    }

    /**
     * Drops the shard's indexes, and removes rows of an earlier copy unless their part is still right.
     *
     * @param bytes approximate size of its tables on the source
     */
    public PartedShard begin(int shard, long bytes, List<SplitTable> tables, TableCopy.Progress progress)
            throws SQLException {
        PartedShard parted = new PartedShard(shard, tables);
        Map<SplitTable, Kept> kept = new LinkedHashMap<>();
        for (SplitTable table : tables) {
            kept.put(table, OwnersCode.refusingViews(target, () -> kept(table)));
        }
        plan(parted, bytes, kept, progress);
        if (!parted.parts.isEmpty()) {
            Sql.inTransaction(target, () -> {
                Sql.execute(target, checkClaim + "SET synchronous_commit = off; " + AS_REPLICATION);
                for (DeferredIndexes.Late late : DeferredIndexes.indexesOfBoth(source, target, shard)) {
                    Sql.execute(target, late.drop());
                }
                removeStale(shard, kept);
                return true;
            });
        }
        return parted;
    }

    /**
     * The parts of a table that an earlier copy has left.
     *
     * @param rows how many the parts have that are as in the snapshot, also those that have none
     * @param stale the parts that have other rows
     */
    private record Kept(Map<Integer, Long> rows, List<Integer> stale) {

        boolean isNothing() {
            return rows.values().stream().noneMatch(count -> count > 0);
        }
    }

    private Kept kept(SplitTable table) throws SQLException {
        Kept kept = new Kept(new HashMap<>(), new ArrayList<>());
        String hasRows =
                "SELECT EXISTS (SELECT FROM ONLY %s)".formatted(table.table().name());
        if (!Sql.isTrue(target, hasRows)) {
            if (!Sql.isTrue(source, hasRows)) {
                kept.rows.put(0, 0L);
            }
            return kept;
        }
        Rows hashed = Rows.of(source, target, table.table().name());
        InParallel.Pair<Map<Integer, Digest>> both =
                InParallel.both(source, target, connection -> table.digests(connection, hashed));
        for (int part = 0; part < table.parts(); part++) {
            Digest there = both.second().get(part);
            if (Objects.equals(there, both.first().get(part))) {
                kept.rows.put(part, there == null ? 0 : there.count());
            } else if (there != null) {
                kept.stale.add(part);
            }
        }
        return kept;
    }

    private static void plan(PartedShard parted, long bytes, Map<SplitTable, Kept> kept, TableCopy.Progress progress) {
        double work = parted.tables.stream()
                .mapToDouble(split -> split.table().work() + split.table().workOfIndexes())
                .sum();
        kept.forEach((split, there) -> {
            TableCopy.Table table = split.table();
            long size = Math.round(bytes * table.work() / work / split.parts());
            for (int part = 0; part < split.parts(); part++) {
                Long rows = there.rows.get(part);
                if (rows == null) {
                    parted.parts.add(new Part(split, part, new TableCopy.Share(table.rows() / split.parts(), size)));
                } else {
                    progress.copied(0, rows, size);
                }
            }
        });
        parted.left.set(parted.parts.size());
    }

    private void removeStale(int shard, Map<SplitTable, Kept> kept) throws SQLException {
        if (kept.values().stream().allMatch(Kept::isNothing)) {
            ShardCopy.empty(target, shard);
            return;
        }
        for (Map.Entry<SplitTable, Kept> table : kept.entrySet()) {
            String name = table.getKey().table().name();
            List<Integer> stale = table.getValue().stale;
            if (!stale.isEmpty()) {
                if (table.getValue().isNothing() && !Sql.isTrue(target, IS_REFERENCED, name)) {
                    // Not what inherits from it, whose parts may be kept.
                    Sql.execute(target, "TRUNCATE ONLY " + name);
                } else {
                    delete(name, table.getKey().condition(stale));
                }
            }
        }
    }

    /** Deletes rows of a table even if it is published without a key, which PostgreSQL would refuse otherwise. */
    private void delete(String table, String condition) throws SQLException {
        boolean hasDefault =
                Sql.isTrue(target, "SELECT relreplident = 'd' FROM pg_class WHERE oid = ?::regclass", table);
        String identity = "ALTER TABLE %s REPLICA IDENTITY ".formatted(table);
        Sql.execute(
                target,
                (hasDefault ? identity + "FULL; " : "")
                        + "DELETE FROM ONLY %s WHERE %s".formatted(table, condition)
                        + (hasDefault ? "; " + identity + "DEFAULT" : ""));
    }

    private static String names(Collection<SplitTable> tables) {
        return String.join(
                ", ", tables.stream().map(split -> split.table().name()).toList());
    }

    /** Copies a part. */
    public void copy(Part part, TableCopy.Progress progress) throws SQLException {
        Sql.inTransaction(target, () -> {
            Sql.execute(target, checkClaim + "SET synchronous_commit = off; " + AS_REPLICATION);
            rows.copyWhere(part.table.condition(part.number), part.table.table(), part.share, progress);
            return true;
        });
    }

    /** The indexes of the shard that are built after the last part, each for {@link #build}. */
    public List<String> indexes(PartedShard parted) throws SQLException {
        return DeferredIndexes.missingIndexes(source, target, parted.number);
    }

    /** Builds an index; other indexes of the table may be built over other connections at the same time. */
    public void build(String index) throws SQLException {
        Sql.inTransaction(target, () -> {
            Sql.execute(target, checkClaim + DeferredIndexes.MEMORY);
            Sql.execute(target, index);
            return true;
        });
    }

    /** Builds everything that the target still lacks after the indexes. */
    public void end(PartedShard parted) throws SQLException {
        try {
            Sql.inTransaction(target, () -> {
                Sql.execute(target, checkClaim + DeferredIndexes.MEMORY);
                DeferredIndexes.buildMissing(source, target, parted.number);
                return true;
            });
        } catch (SQLException e) {
            DeferredIndexes.explainBroken(e, parted.number);
            throw e;
        }
        Sql.execute(target, "ANALYZE " + names(parted.tables));
    }

    /** Gives a shard its final indexes, without its rows; the caller rolls this back. */
    public static void pretendEnd(Connection source, Connection target, int shard) throws SQLException {
        Sql.execute(target, "SET LOCAL lock_timeout = '5s'; " + AS_REPLICATION);
        ShardCopy.empty(target, shard);
        DeferredIndexes.buildMissing(source, target, shard);
    }
}
