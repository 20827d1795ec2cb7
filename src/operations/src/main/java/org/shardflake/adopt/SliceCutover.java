/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.shardflake.Advice;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/**
 * Cuts shards over from the old database, one by one, while it is in use. For one thread, and several tables at a time: each is prepared once,
 * so that a pause has nothing to prepare.
 *
 * <p>The row of a slice in the old database decides where its shard is. One statement changes it, in the session that holds the slice's lock:
 * a command that is killed earlier has changed nothing that counts, and the lock ends with it.
 */
final class SliceCutover implements AutoCloseable {

    /** The time for which writers may be blocked by others that started earlier. */
    private static final Duration PATIENCE = Duration.ofMillis(90);

    private static final int ATTEMPTS = 200;

    /** The number of times that a table is searched if more rows differ than can be remembered. */
    private static final int SEARCHES = 4;

    /** The number of times that differing rows are checked again while they change. */
    private static final int LOOKS = 2;

    private record Table(Routes.Placed placed, Adopter adopter, Adoption adoption, Rows rows) {}

    private final List<AdoptSession> sessions;
    private final SliceFence fence;
    private final FencedShards fenced;
    private final AdoptListener listener;
    private final List<Table> tables = new ArrayList<>();
    private final int shardCount;

    private SliceCutover(List<AdoptSession> sessions, AdoptListener listener) {
        AdoptSession session = sessions.get(0);
        this.sessions = sessions;
        this.shardCount = session.map().sharding().shardCount();
        this.fence = new SliceFence(session.old());
        this.fenced = new FencedShards(session);
        this.listener = listener;
    }

    /**
     * Prepares all tables, each after the tables that it gets its keys from.
     *
     * @param sessions of which the first holds the locks
     */
    static SliceCutover open(
            List<Routes.Placed> tables, List<AdoptSession> sessions, int batchRows, AdoptListener listener)
            throws SQLException {
        SliceCutover cutover = new SliceCutover(sessions, listener);
        try {
            Sql.execute(sessions.get(0).old(), SliceFence.NOTICE);
            for (Routes.Placed table : tables) {
                AdoptSession session = sessions.get(cutover.tables.size() % sessions.size());
                Adopter adopter = new Adopter(table, session, batchRows, AdoptListener.NONE);
                cutover.tables.add(new Table(table, adopter, adopter.prepare(), adopter.comparison()));
            }
            return cutover;
        } catch (SQLException | RuntimeException e) {
            cutover.close();
            throw e;
        }
    }

    /**
     * Lets shards leave the old database; skips those that have left already.
     *
     * @throws RowsDifferException if a shard does not have the rows that it should
     */
    List<SliceReport> run(ShardSet shards) throws SQLException {
        for (Table table : tables) {
            fence.raise(table.adoption(), table.placed().routed());
        }
        fenced.settle(ShardSet.of());
        return run(stillHere(shards), false);
    }

    private Set<Integer> stillHere(ShardSet shards) throws SQLException {
        TreeSet<Integer> wanted = new TreeSet<>(shards.stream().boxed().toList());
        wanted.removeAll(fence.over());
        return wanted;
    }

    /**
     * Does everything that writers of these shards would wait for, but lets no shard leave; those that have left are left out. The triggers are
     * those of the first cutover: to create them here would refuse changes of keys from now on, which a rehearsal must not.
     *
     * @throws AdoptRefusedException if no cutover has created the triggers
     * @throws RowsDifferException if a shard does not have the rows that it should
     */
    List<SliceReport> rehearse(ShardSet shards) throws SQLException {
        for (Table table : tables) {
            fence.requireUp(table.placed().name());
        }
        return run(stillHere(shards), true);
    }

    private List<SliceReport> run(Set<Integer> wanted, boolean isRehearsal) throws SQLException {
        Map<Table, SliceComparison> comparisons = wanted.isEmpty() ? Map.of() : compare(wanted);
        List<SliceReport> reports = new ArrayList<>();
        for (int shard : wanted) {
            for (Table table : tables) {
                table.adopter().requireEqual(comparison(comparisons, table), shard);
            }
            SliceReport report = cutOver(shard, comparisons, isRehearsal);
            if (isRehearsal) {
                listener.rehearsed(report);
            } else {
                listener.left(report);
            }
            reports.add(report);
        }
        return reports;
    }

    /**
     * Compares all rows while the tables are in use. The engine is the only one that changes the shards, so a row that differs and has no
     * change which is still noted differs for good. Those that had such changes at every look are left for the pause.
     */
    private Map<Table, SliceComparison> compare(Set<Integer> wanted) throws SQLException {
        Map<Table, SliceComparison> comparisons = new HashMap<>();
        AtomicInteger suspects = new AtomicInteger();
        tables.forEach(table -> comparisons.put(table, new SliceComparison(suspects)));
        List<Table> left = tables;
        for (int search = 0; search < SEARCHES && !left.isEmpty(); search++) {
            for (Table table : left) {
                table.adopter().bringRest(table.adoption());
                table.adopter().search(comparison(comparisons, table), table.rows(), wanted);
            }
            look(comparisons);
            left = tables.stream()
                    .filter(table -> wanted.stream().anyMatch(comparison(comparisons, table)::isUnsearched))
                    .toList();
        }
        return comparisons;
    }

    /** Rechecks rows that may differ until all are decided or some have changed every time. */
    private void look(Map<Table, SliceComparison> comparisons) throws SQLException {
        for (int i = 0; i < LOOKS && comparisons.values().stream().anyMatch(SliceComparison::isDoubtful); i++) {
            bringRest();
            for (Table table : tables) {
                table.adopter().check(comparison(comparisons, table), table.rows());
            }
        }
    }

    private static SliceComparison comparison(Map<Table, SliceComparison> comparisons, Table table) {
        return Objects.requireNonNull(comparisons.get(table));
    }

    private SliceReport cutOver(int shard, Map<Table, SliceComparison> comparisons, boolean isRehearsal)
            throws SQLException {
        for (Table table : tables) {
            if (table.placed().routed().route().table().kind().equals("p")) {
                table.adopter().followPartitions(table.adoption());
            }
            table.adopter().learnForeignKeys(shard);
        }
        limitWaits(shard);
        for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
            bringRest();
            long begun = System.nanoTime();
            if (fence.hold(shard, PATIENCE)) {
                try {
                    complete(shard, comparisons);
                    if (!isRehearsal) {
                        leave(shard);
                    }
                } catch (SQLException | RuntimeException e) {
                    release(shard, e);
                    throw e;
                }
                fence.release(shard);
                return new SliceReport(shard, Duration.ofNanos(System.nanoTime() - begun), attempt);
            }
        }
        throw new AdoptException(
                ShardflakeException.Kind.FAILURE,
                "shard %s could not leave: transactions that write to its rows do not end".formatted(shard),
                Advice.of(
                        "find them in pg_stat_activity by their xact_start, end them, and run the same command again"));
    }

    /**
     * Limits the time that sessions wait for each other, since writers wait for all of them and a server sees no deadlock that spans sessions.
     */
    private void limitWaits(int shard) throws SQLException {
        for (AdoptSession session : sessions) {
            Sql.execute(session.old(), SliceFence.IN_TIME);
            Sql.execute(new FencedShards(session).connection(shard), SliceFence.IN_TIME);
        }
    }

    private void bringRest() throws SQLException {
        for (Table table : tables) {
            table.adopter().bringRest(table.adoption());
        }
    }

    /**
     * Completes a shard's cutover while its writers wait. It brings over changes that may concern the shard only, and after a clash of rows
     * all.
     */
    private void complete(int shard, Map<Table, SliceComparison> comparisons) throws SQLException {
        for (Table table : tables) {
            table.adopter().bringRest(table.adoption(), shard);
        }
        requireWatched();
        for (Table table : tables) {
            table.adopter().compare(table.adoption(), comparison(comparisons, table), table.rows(), shard);
        }
        for (Table table : tables) {
            table.adopter().checkForeignKeys(shard);
        }
    }

    /** Refuses what may have written rows that the journal lacks. */
    private void requireWatched() throws SQLException {
        JournalTriggers.require(
                sessions.get(0).old(),
                tables.stream().map(table -> table.adoption().id()).toList());
        for (Table table : tables) {
            table.adopter().requireSamePartitions(table.adoption());
        }
    }

    private void leave(int shard) throws SQLException {
        fence.leave(shard, tables.stream().map(table -> table.placed().name()).toList());
        fenced.open(shard); // If it had come back before.
        tables.forEach(table -> table.adopter().leave(shard));
    }

    private void release(int shard, Exception failure) {
        try {
            fence.release(shard);
        } catch (SQLException e) {
            failure.addSuppressed(e); // The session has ended, and its lock with it.
        }
    }

    /** The shards that are still in the old database. */
    ShardSet remaining() throws SQLException {
        Set<Integer> over = fence.over();
        return ShardSet.of(IntStream.range(0, shardCount)
                .filter(shard -> !over.contains(shard))
                .toArray());
    }

    /** Refuses rows that would belong to no shard once all of these shards have left. */
    void refuseWaiting() throws SQLException {
        bringRest();
        for (Table table : tables) {
            table.adopter().refuseWaiting();
        }
    }

    @Override
    public void close() {
        tables.forEach(table -> table.adopter().close());
    }
}
