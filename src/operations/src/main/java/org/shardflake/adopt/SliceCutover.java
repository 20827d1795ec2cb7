/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toList;
import static java.util.stream.Collectors.toSet;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.shardflake.Advice;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/**
 * Cuts shards over from the old database, one by one, while it is in use. For one thread, which has several tables worked on at a time: each is prepared
 * once, so that a pause has nothing to prepare, and left alone while none of its rows has changed.
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

    /** The number of times that changes of a shard are brought over before its writers wait, while more tables have some than {@link #FEW}. */
    private static final int SWEEPS = 6;

    private static final int FEW = 2;

    /** The shard, as a setting: the queries are the same for all shards, so that the server plans them once. */
    private static final String SHARD = "pg_catalog.current_setting('shardflake_adopt.leaving')::integer";

    /** The transaction since which lines of the journal are to be looked at, as a setting. */
    private static final String SINCE = "pg_catalog.current_setting('shardflake_adopt.since')::pg_catalog.xid";

    /**
     * The oldest transaction that has not ended. All before it have, and so have their subtransactions, whose numbers are higher than their own: later
     * statements see what these have committed.
     */
    private static final String OLDEST_RUNNING =
            "SELECT (pg_catalog.txid_snapshot_xmin(pg_catalog.txid_current_snapshot()) & 4294967295)::pg_catalog.text";

    /** @param session the number of the one that all of the table's rows are brought by */
    private record Table(Routes.Placed placed, int session, Adopter adopter, Adoption adoption, Rows rows) {

        boolean isPartitioned() {
            return placed.routed().route().table().isPartitioned();
        }
    }

    /** Work on a table. */
    @FunctionalInterface
    private interface Step {
        void on(Table table) throws SQLException;
    }

    private final List<AdoptSession> sessions;
    private final ExecutorService threads;
    private final SliceFence fence;
    private final FencedShards fenced;
    private final AdoptListener listener;
    private final List<Table> tables = new ArrayList<>();
    private final int shardCount;

    private SliceCutover(List<AdoptSession> sessions, ExecutorService threads, AdoptListener listener) {
        AdoptSession session = sessions.get(0);
        this.sessions = sessions;
        this.threads = threads;
        this.shardCount = session.map().sharding().shardCount();
        this.fence = new SliceFence(session.old());
        this.fenced = new FencedShards(session);
        this.listener = listener;
    }

    /**
     * Prepares all tables, each after the tables that it gets its keys from.
     *
     * @param sessions of which the first holds the locks
     * @param threads for work in several sessions at a time
     */
    static SliceCutover open(
            List<Routes.Placed> tables,
            List<AdoptSession> sessions,
            ExecutorService threads,
            int batchRows,
            AdoptListener listener)
            throws SQLException {
        SliceCutover cutover = new SliceCutover(sessions, threads, listener);
        try {
            Sql.execute(sessions.get(0).old(), SliceFence.NOTICE);
            for (Routes.Placed table : tables) {
                int session = cutover.tables.size() % sessions.size();
                Adopter adopter = new Adopter(table, sessions.get(session), batchRows, AdoptListener.NONE);
                cutover.tables.add(new Table(table, session, adopter, adopter.prepare(), adopter.comparison()));
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
            bringRest();
            onAll(left, table -> {
                // What has changed while others were searched, since each such row is looked up.
                table.adopter().bringRest(table.adoption());
                table.adopter().search(comparison(comparisons, table), table.rows(), wanted);
            });
            look(comparisons);
            left = tables.stream()
                    .filter(table -> wanted.stream().anyMatch(comparison(comparisons, table)::isUnsearched))
                    .toList();
        }
        return comparisons;
    }

    /** Rechecks rows that may differ until all are decided or some have changed every time. */
    private void look(Map<Table, SliceComparison> comparisons) throws SQLException {
        for (int i = 0; i < LOOKS; i++) {
            List<Table> doubtful = tables.stream()
                    .filter(table -> comparison(comparisons, table).isDoubtful())
                    .toList();
            if (doubtful.isEmpty()) {
                return;
            }
            bringRest();
            onAll(doubtful, table -> table.adopter().check(comparison(comparisons, table), table.rows()));
        }
    }

    /** Runs work on tables, on those of each session one after the other. */
    private void onAll(Collection<Table> some, Step step) throws SQLException {
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < sessions.size(); i++) {
            int session = i;
            List<Table> its =
                    some.stream().filter(table -> table.session() == session).toList();
            if (!its.isEmpty()) {
                all.add(threads.submit(() -> {
                    for (Table table : its) {
                        step.on(table);
                    }
                    return true;
                }));
            }
        }
        ShardServers.awaitAll(all);
    }

    /**
     * Runs work on the tables that need it, parents first, since changes of parents may change their children's shards. One query asks for several tables of a
     * level, however many need nothing.
     *
     * @return the tables that did
     */
    private List<Table> onAll(TableQuestions.Condition<Table> need, Step step) throws SQLException {
        List<Table> needed = new ArrayList<>();
        for (List<Table> level : tables.stream()
                .collect(groupingBy(table -> table.placed().level(), TreeMap::new, toList()))
                .values()) {
            List<Table> its = TableQuestions.matching(sessions.get(0).old(), level, Table::isPartitioned, need);
            onAll(its, step);
            needed.addAll(its);
        }
        return needed;
    }

    private static SliceComparison comparison(Map<Table, SliceComparison> comparisons, Table table) {
        return Objects.requireNonNull(comparisons.get(table));
    }

    private SliceReport cutOver(int shard, Map<Table, SliceComparison> comparisons, boolean isRehearsal)
            throws SQLException {
        for (Table table : tables) {
            if (table.isPartitioned()) {
                table.adopter().followPartitions(table.adoption());
            }
        }
        limitWaits(shard);
        Sql.execute(sessions.get(0).old(), "SET shardflake_adopt.leaving = " + shard);
        bringRest();
        Set<Table> changed = ConcurrentHashMap.newKeySet();
        onAll(tables, table -> {
            if (!table.adopter().keepForeignKeys(shard)) {
                changed.add(table); // It was written to while others were brought; checked again when that has ended.
            }
        });
        for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
            changed.addAll(attempt == 1 ? List.of() : bringRest());
            changed.addAll(sweep(shard));
            long begun = System.nanoTime();
            if (fence.hold(shard, PATIENCE)) {
                try {
                    complete(shard, comparisons, changed);
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

    /** Leaves few changes for the time when a shard's writers wait; returns the tables that had some. */
    private Set<Table> sweep(int shard) throws SQLException {
        Set<Table> changed = new HashSet<>();
        for (int sweep = 0; sweep < SWEEPS; sweep++) {
            List<Table> some = bringRest(shard);
            changed.addAll(some);
            if (some.size() <= FEW) {
                break;
            }
        }
        return changed;
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

    /** Brings over all changes; returns the tables that had some. */
    private List<Table> bringRest() throws SQLException {
        String oldest = oldestRunning();
        List<Table> some = onAll(
                table -> table.adopter().hasRest(table.adoption()),
                table -> table.adopter().bringRest(table.adoption()));
        lookSince(oldest);
        return some;
    }

    /**
     * Brings over changes that may concern a shard; returns their tables. A line that was found not to concern it is not looked at again: its row has another
     * shard, and if it comes to this one later, it has a later line in the same table, its own or one that its parent's has noted. With that, all lines of the
     * table are looked at. A row without a shard concerns every one.
     */
    private List<Table> bringRest(int shard) throws SQLException {
        String oldest = oldestRunning();
        List<Table> some = onAll(
                table -> table.adopter().hasRest(table.adoption(), SHARD, SINCE),
                table -> table.adopter().bringRest(table.adoption(), shard));
        lookSince(oldest);
        return some;
    }

    private String oldestRunning() throws SQLException {
        return Sql.text(sessions.get(0).old(), OLDEST_RUNNING);
    }

    private void lookSince(String transaction) throws SQLException {
        Sql.execute(sessions.get(0).old(), "SET shardflake_adopt.since = " + transaction);
    }

    /**
     * Completes a shard's cutover while its writers wait. It brings over changes that may concern the shard only, and after a clash of rows
     * all.
     *
     * @param changed the tables that have changed since the foreign keys were checked
     */
    private void complete(int shard, Map<Table, SliceComparison> comparisons, Set<Table> changed) throws SQLException {
        changed.addAll(bringRest(shard));
        requireWatched();
        for (Table table : tables) {
            table.adopter().compare(table.adoption(), comparison(comparisons, table), table.rows(), shard);
        }
        Set<String> into = changed.stream().map(table -> table.placed().into()).collect(toSet());
        onAll(tables, table -> table.adopter().checkForeignKeys(shard, into));
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
