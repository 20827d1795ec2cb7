/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;
import org.shardflake.reference.ReferenceTables;
import org.shardflake.server.ServerUrl;

/**
 * Copies the rows of tables, or of one, into the shards while they are in use; tables without the key get it from the rows that they refer to.
 * {@link #finish} stops the writes to all of them. For one thread.
 *
 * <p>Rows keep their ids. Nothing fires in the shards for them: no trigger, no check of foreign keys. A worker has one table at a time, so that the rows of a table are always brought by
 * one session, each time as they were later than the time before.
 */
public final class DatabaseAdopter implements AutoCloseable {

    private static final int NOT_COMPARED = -1;

    /** The maximum number of searches when too many rows may differ to remember them all. */
    private static final int SEARCHES = 5;

    /** The number of times that rows which may differ are checked again. */
    private static final int LOOKS = 20;

    /** The number of rows without a shard that are named. */
    private static final int WITHOUT_SHARD = 100;

    private final DatabaseSettings settings;
    private final AdoptListener listener;
    private final References references;
    private final List<AdoptSession> sessions;
    private final List<Routes.Placed> tables;
    private final ExecutorService threads = Executors.newCachedThreadPool(DatabaseAdopter::daemon);
    private final AllTables progress;
    private final Map<String, Long> changes = new ConcurrentHashMap<>();
    private final Map<String, Long> compared = new ConcurrentHashMap<>();

    /** Compares the reference tables of the plan. */
    @FunctionalInterface
    private interface References {
        List<ReferenceComparison> compare() throws SQLException;
    }

    private DatabaseAdopter(
            DatabaseSettings settings, References references, List<AdoptSession> sessions, AdoptListener listener)
            throws SQLException {
        this.settings = settings;
        this.references = references;
        this.sessions = sessions;
        this.listener = listener;
        this.tables = new Routes(sessions.get(0), settings.tables()).placed();
        this.progress = new AllTables(
                listener,
                settings.rowsPerSecond(),
                tables.stream()
                        .mapToLong(table -> table.routed().route().table().estimatedRows())
                        .sum());
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "shardflake adopt, worker");
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Connects to the old database and to all servers of the map. Changes nothing.
     *
     * @param oldDatabase the database of the tables, where progress is recorded too; the login owns the tables
     * @param catalog where the adoptions are recorded, so that no move begins in the meantime
     * @param urls how to reach a server of the map; the login acts for the owner of the tables
     * @throws AdoptRefusedException if there are no such tables, or a path leads to no key
     */
    public static DatabaseAdopter open(
            DatabaseSettings settings,
            ServerUrl oldDatabase,
            ServerUrl catalog,
            ShardMap map,
            Function<Server, ServerUrl> urls,
            AdoptListener listener) {
        return Sql.translating(() -> {
            List<AdoptSession> sessions = new ArrayList<>();
            try {
                int workers = Math.min(settings.workers(), settings.tables().size());
                for (int worker = 0; worker < workers; worker++) {
                    sessions.add(AdoptSession.open(oldDatabase, catalog, map, urls));
                }
                References references = () -> settings.references().isEmpty()
                        ? List.of()
                        : ReferenceComparison.of(settings.references(), oldDatabase, urls.apply(home(catalog, map)));
                return new DatabaseAdopter(settings, references, sessions, listener);
            } catch (SQLException | RuntimeException e) {
                sessions.forEach(AdoptSession::close);
                throw e;
            }
        });
    }

    private static Server home(ServerUrl catalog, ShardMap map) {
        return map.server(ReferenceTables.home(catalog)
                .orElseThrow(() -> new AdoptRefusedException(
                        "the plan has reference tables, and there are none yet",
                        Advice.of("create them by %s", CliCommand.REFERENCE_DEPLOY_HOME))));
    }

    /** Work on a table. */
    @FunctionalInterface
    private interface Step {
        void on(Adopter adopter) throws SQLException;
    }

    /** Runs work on tables, each on a free worker; starts no more after a failure. */
    private void onAll(Collection<Routes.Placed> some, Step step) throws SQLException {
        Queue<Routes.Placed> queue = new ConcurrentLinkedQueue<>(some);
        AtomicBoolean hasFailed = new AtomicBoolean();
        List<Future<?>> all = new ArrayList<>();
        for (AdoptSession session : sessions) {
            all.add(threads.submit(() -> {
                try {
                    Routes.Placed table = queue.poll();
                    while (table != null && !hasFailed.get()) {
                        on(table, session, step);
                        table = queue.poll();
                    }
                } catch (SQLException | RuntimeException e) {
                    hasFailed.set(true);
                    throw e;
                }
                return true;
            }));
        }
        ShardServers.awaitAll(all);
    }

    private void on(Routes.Placed table, AdoptSession session, Step step) throws SQLException {
        int batchRows = progress.batch(settings.batchRows());
        try (Adopter adopter = new Adopter(table, session, batchRows, progress.of(table.name()))) {
            step.on(adopter);
            changes.merge(table.name(), adopter.changes(), Long::sum);
        }
    }

    /** Names what is adopted, as messages say it. */
    public String name() {
        return name("each", tables);
    }

    private static String name(String which, List<Routes.Placed> some) {
        return some.size() == 1 ? some.get(0).name() : "%s of the %s tables".formatted(which, some.size());
    }

    private Connection old() {
        return sessions.get(0).old();
    }

    /** The numbers of the adoptions that were begun. */
    private List<Integer> ids() throws SQLException {
        List<Integer> ids = new ArrayList<>();
        for (Routes.Placed table : tables) {
            journal(table).find().ifPresent(adoption -> ids.add(adoption.id()));
        }
        return ids;
    }

    private ChangeJournal journal(Routes.Placed table) {
        return new ChangeJournal(old(), table.routed().route().table());
    }

    /**
     * Describes the adoption. Checks everything and changes nothing.
     *
     * @throws AdoptRefusedException if the rows of a table cannot live in the shards' tables
     */
    public List<AdoptPreview> plan() {
        return Sql.translating(() -> {
            Map<String, AdoptPreview> plans = new ConcurrentHashMap<>();
            onAll(tables, adopter -> {
                AdoptPreview plan = adopter.plan();
                plans.put(plan.table(), plan);
            });
            return tables.stream()
                    .map(table -> Objects.requireNonNull(plans.get(table.name())))
                    .toList();
        });
    }

    /** Copies the remaining rows and brings over later changes. The tables keep taking writes. */
    public List<AdoptReport> run() {
        return Sql.translating(() -> {
            lock();
            copyAndCatchUp();
            return report();
        });
    }

    private void lock() throws SQLException {
        for (Routes.Placed table : tables) {
            Adopter.lock(old(), table.name());
        }
    }

    /** Copies rows and catches up with changes; returns the tables that are not finished. */
    private List<Routes.Placed> copyAndCatchUp() throws SQLException {
        Set<String> finished = ConcurrentHashMap.newKeySet();
        onAll(tables, adopter -> {
            if (adopter.isFinished()) {
                adopter.forgetFinished();
                finished.add(adopter.name());
            } else {
                adopter.plan();
            }
        });
        List<Routes.Placed> unfinished = tables.stream()
                .filter(table -> !finished.contains(table.name()))
                .toList();
        // All tables, before any is copied: what is not noted is seen by every copy.
        onAll(unfinished, Adopter::begin);
        copyAgain(unfinished);
        Comparator<Routes.Placed> bySize =
                Comparator.comparingLong(table -> table.routed().route().table().estimatedRows());
        onAll(unfinished.stream().sorted(bySize.reversed()).toList(), adopter -> adopter.copy(adopter.prepare()));
        onLevels(unfinished, adopter -> adopter.catchUp(adopter.prepare()));
        return unfinished;
    }

    /**
     * Has rows copied again that have their keys from rows of a table whose journal may lack changes. That table's own triggers are put back later, so that
     * a run which is killed in between leaves the reason.
     */
    private void copyAgain(List<Routes.Placed> some) throws SQLException {
        Set<String> lacking = ConcurrentHashMap.newKeySet();
        onAll(some, adopter -> {
            if (adopter.mayLackRows()) {
                lacking.add(adopter.name());
            }
        });
        onAll(
                some.stream()
                        .filter(table -> table.routed().route().leadsThrough(lacking))
                        .toList(),
                Adopter::copyAgain);
    }

    /** Runs work on tables, parents first, since changes of parents may change their children's shards. */
    private void onLevels(List<Routes.Placed> some, Step step) throws SQLException {
        int levels = some.stream().mapToInt(Routes.Placed::level).max().orElse(-1) + 1;
        for (int level = 0; level < levels; level++) {
            int its = level;
            onAll(some.stream().filter(table -> table.level() == its).toList(), step);
        }
    }

    /**
     * Runs like {@link #run}, then stops writes to all tables, brings the last changes over and compares all rows. If that fails, the
     * tables take writes again; only a killed process leaves them closed, until they are run again or {@link #reopen opened}.
     *
     * @throws RowsDifferException if shards or reference tables lack rows they should have, or have others
     * @throws BrokenForeignKeysException if rows that belong together are in different shards, or reference tables lack rows
     */
    public List<AdoptReport> finish() {
        return Sql.translating(() -> {
            lock();
            List<Routes.Placed> unfinished = copyAndCatchUp();
            new FencedShards(sessions.get(0)).refuseBack();
            // What is missing there would be found only after the writes have stopped.
            onAll(unfinished, Adopter::checkReferences);
            requireReferences();
            end(unfinished, () -> {
                if (!unfinished.isEmpty()) {
                    listener.closed(name("each", unfinished));
                }
                onLevels(unfinished, adopter -> adopter.bringAllOver(adopter.prepare()));
                check(unfinished);
                requireReferences().forEach(listener::onlyInReference);
            });
            return report();
        });
    }

    /**
     * Runs like {@link #run}, then lets shards leave the old database one by one while both are in use. When one has left, writes to its rows in
     * the old tables are refused. When all have, the adoption is finished.
     *
     * @throws AdoptRefusedException if the adoption is finished, someone has changed its triggers, or all shards have left and rows remain that belong to
     *     none
     * @throws RowsDifferException if a shard does not have the rows that it should, or a reference table, before the last shards leave; it has not left, and
     *     nor have those after it
     * @throws BrokenForeignKeysException if a shard's rows break a foreign key; it has not left, and nor have those after it
     */
    public CutoverReport cutOver(ShardSet shards) {
        return Sql.translating(() -> {
            lock();
            JournalTriggers.require(old(), ids());
            List<Routes.Placed> unfinished = copyAndCatchUp();
            if (unfinished.size() < tables.size()) {
                throw new AdoptRefusedException(
                        "the adoption is finished: all shards have left the old database", "nothing is left to do");
            }
            requireTogether();
            onAll(unfinished, Adopter::checkReferences);
            if (areLast(shards)) {
                requireReferences();
            }
            CutoverReport report;
            try (SliceCutover cutover = SliceCutover.open(tables, sessions, threads, settings.batchRows(), listener)) {
                report = new CutoverReport(cutover.run(shards), cutover.remaining());
                if (report.remaining().isEmpty()) {
                    cutover.refuseWaiting();
                }
            }
            if (report.remaining().isEmpty()) {
                requireReferences().forEach(listener::onlyInReference); // They may have changed while the shards left.
                end();
            }
            return report;
        });
    }

    /** Ends the adoption once all shards have left. No trigger refuses a row without a shard before the tables are closed, so it looks for such rows then. */
    private void end() throws SQLException {
        end(tables, () -> {
            onLevels(tables, adopter -> adopter.bringAllOver(adopter.prepare()));
            onAll(tables, Adopter::refuseWaiting);
        });
    }

    /** Closes tables, and ends their adoption after some work; if that fails, they take writes again. */
    private void end(List<Routes.Placed> some, Sql.Action<RuntimeException> work) throws SQLException {
        try {
            closeAll(some);
            work.run();
            ChangeJournal.finish(old(), names(some));
        } catch (SQLException | RuntimeException e) {
            openAfter(e, some);
            throw e;
        }
        onAll(some, Adopter::forgetFinished);
    }

    private boolean haveAllLeft() throws SQLException {
        return areLast(ShardSet.of());
    }

    /** Whether no shard stays in the old database without these. */
    private boolean areLast(ShardSet shards) throws SQLException {
        Set<Integer> over = new SliceFence(old()).over();
        return IntStream.range(0, sessions.get(0).map().sharding().shardCount())
                .allMatch(shard -> over.contains(shard) || shards.contains(shard));
    }

    /**
     * Rehearses {@link #cutOver}: does everything that writers would wait for, shard by shard, but lets no shard leave. Those that have left are left out.
     * {@link #cutOver} of no shard has created the triggers before. If it ends early, writers no longer wait either.
     *
     * @return how long they waited, and the shards that are in the old database
     * @throws AdoptRefusedException if a table is not followed or has no triggers yet
     * @throws RowsDifferException if a shard does not have the rows that it should; those after it were not looked at
     * @throws BrokenForeignKeysException if a shard's rows break a foreign key; those after it were not looked at
     */
    public CutoverReport rehearse(ShardSet shards) {
        return Sql.translating(() -> {
            lock();
            requireTogether();
            onAll(tables, adopter -> {
                adopter.checkFollowing();
                adopter.plan(); // A cutover would refuse the same.
            });
            bringOver(tables);
            onAll(tables, Adopter::checkReferences);
            try (SliceCutover cutover = SliceCutover.open(tables, sessions, threads, settings.batchRows(), listener)) {
                return new CutoverReport(cutover.rehearse(shards), cutover.remaining());
            }
        });
    }

    /**
     * Brings back shards that have left, one by one, with everything written to them since; their servers then refuse writes until the shards
     * leave again. Tables of the shards that are not adopted, reference tables and lookups are left as they are. If all shards have left, the adoption begins
     * again with those that come back.
     *
     * @throws AdoptRefusedException if no shard has left, or the old tables cannot hold a row of a shard; it accepts writes as before, and so do those
     *     after it
     */
    public ReturnReport reverse(ShardSet shards) {
        return Sql.translating(() -> {
            lock();
            requireTogether();
            boolean hasEnded = haveAllLeft() && isAnyClosed();
            if (hasEnded) {
                checkReopen(tables);
            }
            try {
                if (hasEnded) {
                    onAll(tables, Adopter::openAgain);
                }
                ReturnReport report = bringBack(shards);
                if (hasEnded && report.now().isEmpty()) {
                    end();
                }
                return report;
            } catch (SQLException | RuntimeException e) {
                if (hasEnded) {
                    endAgain(e);
                }
                throw e;
            }
        });
    }

    /**
     * Rehearses {@link #reverse}: reads shards that have left, each as it is at one moment, writes their rows to the old tables, compares and checks them,
     * and rolls that back. No shard comes back, and all accept writes.
     *
     * @return the shards that could come back, and why others could not
     * @throws AdoptRefusedException if no shard could come back for a reason that is not one of its rows
     */
    public ReturnRehearsal rehearseReverse(ShardSet shards) {
        return Sql.translating(() -> {
            lock();
            requireTogether();
            boolean mayBeClosed = haveAllLeft();
            try (SliceReturn back = SliceReturn.open(tables, sessions.get(0), settings, listener, mayBeClosed)) {
                return back.rehearse(shards);
            }
        });
    }

    private ReturnReport bringBack(ShardSet shards) throws SQLException {
        try (SliceReturn back = SliceReturn.open(tables, sessions.get(0), settings, listener, false)) {
            return new ReturnReport(back.run(shards), back.over());
        }
    }

    /** Whether the adoption has ended, or a command that ends it was killed. */
    private boolean isAnyClosed() throws SQLException {
        for (Routes.Placed table : tables) {
            AdoptState state = journal(table).find().orElseThrow().state();
            if (state == AdoptState.CLOSED || state == AdoptState.FINISHED) {
                return true;
            }
        }
        return false;
    }

    /**
     * Ends the adoption again after a failure, so that moves need not wait for it, unless a shard has come back or its server may still refuse writes: then
     * the next command opens it.
     */
    private void endAgain(Exception failure) {
        try {
            if (haveAllLeft() && new SliceFence(old()).fenced().isEmpty()) {
                end();
            }
        } catch (SQLException | RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    private void requireTogether() throws SQLException {
        new SliceFence(old()).requireTogether(names(tables));
    }

    private static List<String> names(List<Routes.Placed> some) {
        return some.stream().map(Routes.Placed::name).toList();
    }

    private void closeAll(List<Routes.Placed> some) throws SQLException {
        for (Routes.Placed table : some) {
            ChangeJournal journal = journal(table);
            journal.close(journal.find().orElseThrow());
        }
    }

    private void check(List<Routes.Placed> some) throws SQLException {
        Set<String> into = some.stream().map(Routes.Placed::into).collect(Collectors.toSet());
        onAll(some, adopter -> {
            adopter.refuseWaiting();
            Rows comparison = adopter.comparison();
            compared.put(adopter.name(), adopter.compare(comparison));
            adopter.checkForeignKeys(into);
        });
    }

    private void openAfter(Exception failure, List<Routes.Placed> closed) {
        try {
            for (Routes.Placed table : closed) {
                ChangeJournal journal = journal(table);
                journal.open(journal.find().orElseThrow());
            }
            listener.opened(name("each", closed));
        } catch (SQLException e) {
            failure.addSuppressed(e);
            listener.leftClosed(name("one", closed));
        }
    }

    /**
     * Compares all rows with those in the shards while the tables accept writes. Brings changes over, too: a row counts as different only if it still is when
     * its changes have been carried out. In tables that were finished together, rows differ that have been written to the shards since.
     *
     * @throws AdoptRefusedException if rows of a table are still to be copied, or all shards have left
     */
    public List<TableComparison> verify() {
        return Sql.translating(() -> {
            lock();
            onAll(tables, Adopter::checkCopied);
            List<Routes.Placed> followed = unfinished();
            bringOver(followed);
            Map<String, SliceComparison> comparisons = new ConcurrentHashMap<>();
            AtomicInteger suspects = new AtomicInteger();
            tables.forEach(table -> comparisons.put(table.name(), new SliceComparison(suspects)));
            List<Routes.Placed> left = tables;
            for (int search = 0; search < SEARCHES && !left.isEmpty(); search++) {
                onAll(left, adopter -> adopter.search(Objects.requireNonNull(comparisons.get(adopter.name()))));
                decide(comparisons, followed);
                left = some(comparisons, SliceComparison::isUnfinished);
            }
            bringOver(followed); // Rows whose parents came later than they have their shards now.
            Map<String, List<String>> withoutShard = new ConcurrentHashMap<>();
            onAll(tables, adopter -> withoutShard.put(adopter.name(), adopter.waiting(WITHOUT_SHARD)));
            return tables.stream()
                    .map(table -> Objects.requireNonNull(comparisons.get(table.name()))
                            .result(table.name(), table.into(), Objects.requireNonNull(withoutShard.get(table.name()))))
                    .toList();
        });
    }

    /**
     * Compares the reference tables of the plan with the old tables, which lead until the adoption is complete.
     *
     * @return none after that: then the reference tables lead
     * @throws AdoptRefusedException if the reference tables cannot have the rows
     */
    public List<ReferenceComparison> verifyReferences() {
        return Sql.translating(() -> unfinished().isEmpty() ? List.of() : references.compare());
    }

    /** The tables that shards follow. To those that are finished nothing is brought: their shards may have newer rows. */
    private List<Routes.Placed> unfinished() throws SQLException {
        List<Routes.Placed> unfinished = new ArrayList<>();
        for (Routes.Placed table : tables) {
            if (journal(table)
                    .find()
                    .filter(adoption -> adoption.state() == AdoptState.FINISHED)
                    .isEmpty()) {
                unfinished.add(table);
            }
        }
        return unfinished;
    }

    /**
     * Refuses to complete the adoption while reference tables lack rows of the old database.
     *
     * @return those that have rows which it lacks
     */
    private List<ReferenceComparison> requireReferences() {
        List<ReferenceComparison> all = verifyReferences();
        List<ReferenceComparison> behind =
                all.stream().filter(ReferenceComparison::isBehind).toList();
        if (!behind.isEmpty()) {
            throw RowsDifferException.ofReferences(behind);
        }
        return all.stream().filter(table -> table.difference().isPresent()).toList();
    }

    private void bringOver(List<Routes.Placed> some) throws SQLException {
        onLevels(some, adopter -> adopter.catchUp(adopter.prepare()));
    }

    /** Rechecks rows that may differ until all are decided or some have changed every time. */
    private void decide(Map<String, SliceComparison> comparisons, List<Routes.Placed> followed) throws SQLException {
        List<Routes.Placed> doubtful = some(comparisons, SliceComparison::isDoubtful);
        for (int look = 0; look < LOOKS && !doubtful.isEmpty(); look++) {
            bringOver(followed);
            onAll(doubtful, adopter -> adopter.check(Objects.requireNonNull(comparisons.get(adopter.name()))));
            doubtful = some(comparisons, SliceComparison::isDoubtful);
        }
    }

    private List<Routes.Placed> some(Map<String, SliceComparison> comparisons, Predicate<SliceComparison> which) {
        return tables.stream()
                .filter(table -> which.test(Objects.requireNonNull(comparisons.get(table.name()))))
                .toList();
    }

    /**
     * Makes closed tables accept writes again, and continues to record them.
     *
     * @throws RowsDifferException if the adoption was finished and the shards have been written to since
     */
    public List<AdoptReport> reopen() {
        return Sql.translating(() -> {
            lock();
            List<Routes.Placed> begun = begun();
            checkReopen(begun);
            onAll(begun, Adopter::openAgain);
            return report(begun);
        });
    }

    private void checkReopen(List<Routes.Placed> closed) throws SQLException {
        try {
            onAll(closed, Adopter::checkReopen);
        } catch (SQLException | RuntimeException e) {
            try {
                onAll(closed, Adopter::leaveFinished);
            } catch (SQLException | RuntimeException another) {
                e.addSuppressed(another);
            }
            throw e;
        }
    }

    /** Refuses an adoption that cannot be cancelled. */
    public void checkCancel() {
        Sql.translating(() -> onAll(begun(), Adopter::checkCancel));
    }

    /**
     * Cancels an unfinished adoption: reopens the tables for writes if they were closed, removes the rows that the adoption brought to the
     * shards, and removes all traces from the old database.
     *
     * @throws AdoptRefusedException if the shards have rows that it did not bring, or that someone has changed since
     */
    public List<AdoptReport> cancel() {
        return Sql.translating(() -> {
            lock();
            List<AdoptReport> reports = new ArrayList<>();
            List<Routes.Placed> begun = begun();
            onAll(begun, Adopter::checkOthers);
            if (new SliceFence(old()).others(names(tables)).isEmpty()) {
                new FencedShards(sessions.get(0)).openAll(); // Else they are fenced for the other tables.
            }
            // Children first: their shards are found by their parents' lines.
            for (int i = begun.size() - 1; i >= 0; i--) {
                on(begun.get(i), sessions.get(0), adopter -> reports.add(adopter.cancel()));
            }
            return reports;
        });
    }

    /** The tables whose adoption has begun; a run that ended early may not have begun all. */
    private List<Routes.Placed> begun() throws SQLException {
        List<Routes.Placed> begun = new ArrayList<>();
        for (Routes.Placed table : tables) {
            if (journal(table).find().isPresent()) {
                begun.add(table);
            }
        }
        if (begun.isEmpty()) {
            throw new AdoptRefusedException(
                    tables.size() == 1 ? name() + " is not being adopted" : "none of these tables is being adopted",
                    Advice.of("begin with %s", CliCommand.ADOPT_RUN));
        }
        return begun;
    }

    private List<AdoptReport> report() throws SQLException {
        return report(tables);
    }

    private List<AdoptReport> report(List<Routes.Placed> some) throws SQLException {
        Map<String, AdoptReport> reports = new ConcurrentHashMap<>();
        onAll(
                some,
                adopter -> reports.put(
                        adopter.name(), adopter.report(compared.getOrDefault(adopter.name(), (long) NOT_COMPARED))));
        return some.stream()
                .map(table -> Objects.requireNonNull(reports.get(table.name())))
                .map(report -> report.with(changes.getOrDefault(report.table(), 0L)))
                .toList();
    }

    @Override
    public void close() {
        threads.shutdown();
        sessions.forEach(AdoptSession::close);
    }
}
