/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.shardflake.ShardSet;
import org.shardflake.compare.DifferenceSearch.Difference;
import org.shardflake.compare.EqualCopies;
import org.shardflake.compare.Rows;
import org.shardflake.compare.Rows.Version;
import org.shardflake.compare.SnapshotPair;
import org.shardflake.compare.TableDifference;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.internal.session.Seal;

/**
 * Compares the source's copies with the shards on the target before the copies are removed, while the target is in use.
 *
 * <p>The source stops following and its copies are sealed: they no longer change. The target is read twice, as of shortly before the
 * source stopped and shortly after. The copies' state lies in between, so a row that is equal both times must be equal in the copy;
 * any other row was written on the target meanwhile, which is authoritative. A copy that nobody has written to since it was
 * compared at its cutover is not compared again.
 *
 * <p>The seal stays on and the source stays behind until a {@link MoveRecovery} changes that.
 */
final class RemovalComparison implements AutoCloseable {

    private final MoveSession session;
    private final MoveSettings settings;
    private final MoveListener listener;
    private final EqualCopies copies;
    private final SnapshotPair target;
    private final Connection before;
    private final Connection after;
    private final Connection copy;

    RemovalComparison(MoveSession session, MoveSettings settings, MoveListener listener, EqualCopies copies)
            throws SQLException {
        this.session = session;
        this.settings = settings;
        this.listener = listener;
        this.copies = copies;
        this.target = SnapshotPair.open(session.target()::connect, session.target()::connect);
        this.before = target.first();
        this.after = target.second();
        try {
            this.copy = SnapshotPair.open(session.source()::connect);
        } catch (SQLException e) {
            target.close();
            throw e;
        }
    }

    /**
     * Runs the comparison, and leaves the copies sealed. The rows it returns differ, except for a row that was changed and changed back at the
     * wrong moment.
     */
    Map<Integer, List<TableDifference>> run(ShardSet shards, IntFunction<TableDifference.Filter> filters)
            throws SQLException {
        TableDifference.Names names = new TableDifference.Names();
        stopFollowing();
        Seal.putOn(session.source(), shards);
        listener.reached(MoveStep.SEALED);
        Map<Integer, List<String>> tables = session.source().tables(shards);
        Map<Integer, List<String>> there = session.target().tables(shards);
        EqualCopies.Moment now = EqualCopies.Moment.read(copy, after);
        Map<Integer, List<TableDifference>> differences = new TreeMap<>();
        for (int shard : shards.stream().toArray()) {
            List<String> kept = tables.getOrDefault(shard, List.of());
            List<String> present = there.getOrDefault(shard, List.of());
            List<TableDifference> found = new ArrayList<>(TableDifference.onlyOn(copy, kept, present, names));
            for (String table : present) {
                if (kept.contains(table)) {
                    compare(shard, table, now, names, filters.apply(shard)).ifPresent(found::add);
                }
            }
            if (!found.isEmpty()) {
                differences.put(shard, found);
            }
        }
        return differences;
    }

    private void stopFollowing() throws SQLException {
        Stream reverse = session.reverse();
        reverse.await(settings.patience(), listener);
        Sql.call(before, "SELECT 1");
        // The source has everything before it.
        reverse.await(settings.patience(), listener);
        reverse.stop(settings.patience(), listener);
        Sql.call(after, "SELECT 1");
        listener.reached(MoveStep.REVERSE_STOPPED);
    }

    private Optional<TableDifference> compare(
            int shard, String table, EqualCopies.Moment now, TableDifference.Names names, TableDifference.Filter filter)
            throws SQLException {
        boolean isEqual = session.move().shard(shard).verified() == Verified.AT_CUTOVER;
        if (isEqual && copies.isUnwritten(shard, table, copy, now)) {
            return Optional.empty();
        }
        Rows rows = Rows.of(after, copy, table);
        TableDifference.Filter unchanged = some -> unchanged(rows, some);
        return TableDifference.findCounting(after, copy, rows, names, unchanged.and(filter), () -> {});
    }

    /** The differences without rows that were being written on the target at that moment. */
    private List<Difference> unchanged(Rows rows, List<Difference> some) throws SQLException {
        Set<String> keys = some.stream().map(Difference::key).collect(Collectors.toSet());
        Map<String, Version> first = rows.withKeys(before, keys);
        Map<String, Version> second = rows.withKeys(after, keys);
        return some.stream()
                .filter(row -> Objects.equals(first.get(row.key()), second.get(row.key())))
                .toList();
    }

    @Override
    public void close() {
        target.close();
        Sql.close(copy);
    }
}
