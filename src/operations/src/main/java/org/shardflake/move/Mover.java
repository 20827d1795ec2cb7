/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.compare.DifferenceSearch.Difference;
import org.shardflake.compare.EqualCopies;
import org.shardflake.compare.TableDifference;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.ServerRefusalException;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.CopiesDifferException;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.exception.StreamLostException;
import org.shardflake.move.internal.session.LockWatch;
import org.shardflake.move.internal.session.RetryDeadline;
import org.shardflake.move.internal.session.Seal;
import org.shardflake.move.internal.session.ServerCapacity;
import org.shardflake.move.internal.session.Sleep;
import org.shardflake.move.server.MoveServer;
import org.shardflake.preflight.Preflight;
import org.shardflake.preflight.PreflightCheck;
import org.shardflake.preflight.PreflightReport;
import org.shardflake.server.ServerUrl;
import org.shardflake.server.StandbyException;

/**
 * Moves shards between live servers.
 *
 * <p>The catalog records where a move stands, and any of these methods can be called again after an interruption, by this process or
 * another: it first brings the servers in line with the catalog, and then continues from there. Only one process works on a move at a
 * time. Not thread-safe.
 */
public final class Mover {

    private static final long RETRY_MILLIS = 500;

    /** The pause before a retry when a server lacks room, longer than usual since every retry may fill the disk again. */
    private static final long ROOM_MILLIS = 5_000;

    private static final int LAST_COMPARISONS = 3;

    private static final String KEPT_BACK =
            "%1$s does not follow any more, so it has its rows as they were. Look at the differences, and write the right rows on %2$s; then let %1$s follow again with %3$s, or go back with %4$s";

    /** The time to reconcile after a failure, while the caller waits to learn why the move failed. */
    private static final Duration AFTER_FAILURE = Duration.ofSeconds(60);

    private final MoveCatalog catalog;
    private final Function<String, MoveServer> servers;
    private final MoveSettings settings;
    private final MoveLimits limits;
    private final MoveListener listener;
    private final CutoverFollower follower;
    private EqualCopies copies = new EqualCopies(0);

    /**
     * @param servers the URL of a server of the shard map, including what is needed to log in
     */
    public Mover(
            ServerUrl catalog, Function<String, MoveServer> servers, MoveSettings settings, MoveListener listener) {
        this(catalog, servers, settings, listener, CutoverFollower.NONE);
    }

    /**
     * @param servers the URL of a server of the shard map, including what is needed to log in
     * @param follower is told of cutovers, such as {@code GatewayFollower}
     */
    public Mover(
            ServerUrl catalog,
            Function<String, MoveServer> servers,
            MoveSettings settings,
            MoveListener listener,
            CutoverFollower follower) {
        this(
                new MoveCatalog(catalog),
                servers,
                settings,
                new MoveLimits(settings.bytesPerSecond(), settings.pausesPerMinute()),
                listener,
                follower);
    }

    private Mover(
            MoveCatalog catalog,
            Function<String, MoveServer> servers,
            MoveSettings settings,
            MoveLimits limits,
            MoveListener listener,
            CutoverFollower follower) {
        this.catalog = catalog;
        this.servers = servers;
        this.settings = settings;
        this.limits = limits;
        this.listener = listener;
        this.follower = follower;
    }

    /** Another mover for a concurrent move; both share the limits of the settings. */
    public Mover beside(MoveListener another) {
        return new Mover(catalog, servers, settings, limits, another, follower);
    }

    /** The capacity of a server for additional moves. */
    public ServerCapacity room(String server) {
        MoveServer its = servers.apply(server);
        return Sql.translating(() -> Sql.with(
                its.connect(Preflight.APPLICATION),
                connection -> ServerCapacity.read(connection, server, settings.jobs())));
    }

    /** A mover for the shards of a catalog's shard map, with servers at the map's URLs. */
    public static Mover at(ServerUrl catalog, MoveSettings settings, MoveListener listener) {
        ShardCatalog shards = ShardCatalog.at(catalog);
        return new Mover(
                catalog,
                name -> new MoveServer(
                        name, ServerUrl.parse(shards.load().server(name).url())),
                settings,
                listener);
    }

    /** All unfinished moves in a catalog, oldest first. */
    public static List<Move> moves(ServerUrl catalog) {
        return Sql.translating(new MoveCatalog(catalog)::list);
    }

    /** All unfinished moves, oldest first. */
    public List<Move> moves() {
        return inCatalog(MoveCatalog::all);
    }

    /**
     * A move by its number.
     *
     * @throws MoveRefusedException if there is none, or it is finished
     */
    public Move move(long id) {
        return inCatalog(connection -> MoveCatalog.find(connection, id));
    }

    /** A move and the state of its replication. */
    public MoveStatus status(Move move) {
        String mark = LockWatch.mark(StreamStatus.APPLICATION);
        return Sql.translating(() -> LockWatch.during(
                () -> List.of(
                        LockWatch.Place.of(servers.apply(move.source()), mark),
                        LockWatch.Place.of(servers.apply(move.target()), mark)),
                settings.patience(),
                listener::waits,
                () -> MoveStatus.read(move, servers, mark)));
    }

    /** The existing move of exactly these shards between these servers, if any. */
    public Optional<Move> findOpen(String source, String target, ShardSet shards) {
        return moves().stream()
                .filter(move -> move.source().equals(source)
                        && move.target().equals(target)
                        && move.shardSet().equals(shards))
                .findFirst();
    }

    /** Checks whether these shards can be moved. Changes nothing. */
    public PreflightReport check(String source, String target, ShardSet shards) {
        PreflightReport report = preflight(servers.apply(source), servers.apply(target), shards);
        return inCatalog(OpenAdoptions::inTheWay).map(report::with).orElse(report);
    }

    private PreflightReport preflight(MoveServer source, MoveServer target, ShardSet shards) {
        String mark = LockWatch.mark(Preflight.APPLICATION);
        return Sql.translating(() -> LockWatch.during(
                () -> List.of(LockWatch.Place.of(source, mark), LockWatch.Place.of(target, mark)),
                settings.patience(),
                listener::waits,
                () -> preflight(source, target, shards, mark)));
    }

    /**
     * Runs the checks; a server that does not answer or is a standby at first is probably the wrong one, while one that answered before may be
     * restarting.
     */
    private PreflightReport preflight(MoveServer source, MoveServer target, ShardSet shards, String mark)
            throws SQLException {
        RetryDeadline patience = new RetryDeadline(settings.patience());
        AtomicBoolean answered = new AtomicBoolean();
        while (true) {
            try {
                return Preflight.run(source, target, shards, mark, () -> answered.set(true));
            } catch (SQLException e) {
                boolean isWrong = e instanceof StandbyException
                        || String.valueOf(e.getSQLState()).startsWith("08");
                if ((isWrong && !answered.get()) || !Sql.isOutage(e) || patience.isOver()) {
                    throw e;
                }
                listener.interrupted(Sql.message(e));
                Sleep.millis(RETRY_MILLIS);
            }
        }
    }

    /** Runs a query in the catalog, and waits for its locks up to the time limit. */
    private <T> T inCatalog(Sql.Query<T> query) {
        String mark = LockWatch.mark("shardflake move");
        return Sql.translating(() -> LockWatch.during(
                () -> List.of(new LockWatch.Place("the catalog", catalog.url(), mark, false)),
                settings.patience(),
                listener::waits,
                () -> Sql.with(catalog.url().connect(mark), query)));
    }

    /**
     * Checks whether these shards can be moved. Changes nothing.
     *
     * @throws MoveRefusedException if a check fails
     */
    public PreflightReport requirePassing(String source, String target, ShardSet shards) {
        PreflightReport report;
        // A check takes a sender and tries a schema, so that checks at the same time would fail each other.
        try (MoveLimits.Schemas alone = limits.awaitSchemas(source, target, listener)) {
            report = check(source, target, shards);
        }
        List<PreflightCheck> failed = report.with(PreflightCheck.Outcome.FAILED);
        if (!failed.isEmpty()) {
            PreflightCheck first = failed.get(0);
            String what = "check %s failed: %s".formatted(first.name(), first.found());
            if (failed.size() == 1) {
                throw new MoveRefusedException(what, first.remedy());
            }
            throw new MoveRefusedException(
                    "%s (and %s more)".formatted(what, failed.size() - 1),
                    Advice.of(
                            "%s; %s shows all checks",
                            first.remedy(), CliCommand.MOVE_START_DRY_RUN.with(shards, target)));
        }
        return report;
    }

    /**
     * The existing move of exactly these shards between these servers, or a new one if every check passes. Records it only; {@link
     * #carryOut} does the rest, or {@link #follow}, {@link #cutOver} and {@link #complete} one by one.
     *
     * @throws MoveRefusedException if a check fails, a shard is in another move, or not on the source
     */
    public Move beginOrResume(String source, String target, ShardSet shards, String reason) {
        return findOpen(source, target, shards).orElseGet(() -> {
            requirePassing(source, target, shards)
                    .with(PreflightCheck.Outcome.WARNING)
                    .forEach(listener::warned);
            return record(source, target, shards, reason);
        });
    }

    /** Records a move without checking the servers. */
    public Move record(String source, String target, ShardSet shards, String reason) {
        Move move = inCatalog(connection -> MoveCatalog.begin(connection, source, target, shards, reason));
        listener.reached(MoveStep.RECORDED);
        return move;
    }

    /** Copies what is missing, and returns when both servers follow each other. */
    public Move follow(long id) {
        return work(id, session -> {
            refuseEnding(session.move());
            new Preparation(session, settings, limits, listener).run();
            return session.move();
        });
    }

    /**
     * Compares shards with the copies that follow them, while the shards are in use.
     *
     * @return the differences, by shard; empty if there are none
     */
    public Map<Integer, List<TableDifference>> verify(long id, ShardSet shards) {
        return work(id, session -> {
            requireFollowing(session.move());
            letFollow(session);
            learnTables(session);
            Map<Integer, List<TableDifference>> all = new TreeMap<>();
            Set<Integer> following = new TreeSet<>();
            for (int shard : shards.stream().toArray()) {
                if (session.carrying(session.move().shard(shard)).canFollow()) {
                    following.add(shard);
                }
            }
            ShardSet lost = shards.stream()
                    .filter(shard -> !following.contains(shard))
                    .boxed()
                    .collect(Collectors.collectingAndThen(Collectors.toList(), ShardSet::of));
            all.putAll(NewerCopyGuard.list(session, lost, listener));
            all.putAll(verify(session, ShardSet.of(following)));
            return all;
        });
    }

    private Map<Integer, List<TableDifference>> verify(MoveSession session, ShardSet shards) throws SQLException {
        return verify(session, shards, shard -> TableDifference.Filter.ALL);
    }

    private Map<Integer, List<TableDifference>> verify(
            MoveSession session, ShardSet shards, IntFunction<TableDifference.Filter> filters) throws SQLException {
        Map<Integer, List<TableDifference>> all = new TreeMap<>();
        TableDifference.Names names = new TableDifference.Names();
        Map<Integer, List<String>> tables = session.source().tables(shards);
        for (int number : shards.stream().toArray()) {
            MoveShard shard = session.move().shard(number);
            try (OnlineComparison comparison =
                    new OnlineComparison(session.carrying(shard), settings.patience(), listener)) {
                List<String> its = new ArrayList<>(tables.getOrDefault(number, List.of()));
                List<TableDifference> differences = new ArrayList<>();
                if (session.carrying(shard) == session.reverse()) {
                    List<String> there =
                            session.target().tables(ShardSet.of(number)).getOrDefault(number, List.of());
                    differences.addAll(TableDifference.onlyOn(session.source().control(), its, there, names));
                    its.retainAll(there);
                }
                // The first result since the cutover decides for good whether the source's copy may be removed.
                boolean decides = shard.phase() != ShardPhase.SWITCHED || shard.verified() == Verified.NOT_COMPARED;
                differences.addAll(comparison.compare(its, names, filters.apply(number), () -> {
                    if (decides) {
                        session.lease().verified(number, Verified.DIFFERENT);
                    }
                }));
                if (differences.isEmpty() && !comparison.undecided().isEmpty()) {
                    listener.undecided(number, comparison.undecided());
                    continue;
                }
                if (decides) {
                    session.lease().verified(number, differences.isEmpty() ? Verified.ONLINE : Verified.DIFFERENT);
                }
                listener.compared(number, differences);
                if (!differences.isEmpty()) {
                    all.put(number, differences);
                }
            }
        }
        return all;
    }

    /** Cuts shards over to the target; shards already there are left alone. */
    public Move cutOver(long id, ShardSet shards) {
        return work(id, session -> {
            requireFollowing(session.move());
            requireFollowed(session);
            learnTables(session);
            cutOver(session, shards, ShardPhase.SWITCHED);
            return session.move();
        });
    }

    /**
     * Carries out a move from its current state: copies, follows, cuts over every shard, and completes it.
     *
     * @param keep whether to leave it uncompleted, so that it can be reversed
     * @throws CopiesDifferException if copies differ
     */
    public Move carryOut(Move move, boolean keep) {
        Move now = move;
        if (move.phase() != MovePhase.COMPLETING) {
            follow(move.id());
            now = cutOver(move.id(), move.shardSet());
        }
        if (!keep) {
            complete(move.id());
        } else if (!settings.verify()) {
            compareNow(move);
        }
        return now;
    }

    /** Compares the copies now; otherwise {@link #complete} will. */
    private void compareNow(Move move) {
        Map<Integer, List<TableDifference>> differences = verify(move.id(), move.shardSet());
        if (!differences.isEmpty()) {
            throw new CopiesDifferException(
                    "all shards are cut over, but copies of %s differ"
                            .formatted(Plural.shards(ShardSet.of(differences.keySet()))),
                    Advice.of("look at the differences, and go back with %s", CliCommand.MOVE_REVERSE.with(move.id())),
                    differences);
        }
    }

    /** Cuts shards over back to the source, which has everything written on the target. */
    public Move reverse(long id, ShardSet shards) {
        return work(id, session -> {
            requireFollowing(session.move());
            letFollow(session);
            learnTables(session);
            cutOver(session, shards, ShardPhase.COPIED);
            return session.move();
        });
    }

    private void cutOver(MoveSession session, ShardSet shards, ShardPhase wanted) throws SQLException {
        compareAfterFailover(session, shards, wanted);
        // Going back helps when copies differ, so it continues.
        boolean goingBack = wanted == ShardPhase.COPIED;
        Map<Integer, List<TableDifference>> different;
        try (CutoverComparer comparisons =
                        new CutoverComparer(session.lease(), listener, copies(session), settings.verify());
                Cutover cutover = new Cutover(session, settings, limits, listener, comparisons)) {
            cutover.checkSchema(shards);
            try {
                cutOver(session, shards, wanted, cutover, comparisons);
            } catch (SQLException | RuntimeException e) {
                endComparisons(session, comparisons, goingBack, e);
                throw e;
            }
            different = awaitComparisons(session, comparisons, goingBack);
        } finally {
            follower.settled();
        }
        if (!different.isEmpty()) {
            String numbers = Plural.shards(ShardSet.of(different.keySet()));
            throw new CopiesDifferException(
                    goingBack
                            ? "all shards are back, but copies of %s differed: the source has its former rows and the writes since"
                                    .formatted(numbers)
                            : "copies of %s differed at their cutover, and no more were cut over".formatted(numbers),
                    goingBack ? null : keptBack(session),
                    different);
        }
    }

    private void cutOver(
            MoveSession session, ShardSet shards, ShardPhase wanted, Cutover cutover, CutoverComparer comparisons)
            throws SQLException {
        boolean goingBack = wanted == ShardPhase.COPIED;
        if (goingBack || !comparisons.areWanted()) {
            for (int number : shards.stream().toArray()) {
                if (session.move().shard(number).phase() != wanted) {
                    cutover.run(number, null);
                    follower.moved();
                }
            }
            return;
        }
        try (OnlineComparison comparison = new OnlineComparison(session.forward(), settings.patience(), listener)) {
            for (int number : shards.stream().toArray()) {
                if (session.move().shard(number).phase() == wanted) {
                    continue;
                }
                cutover.requireSlots(number);
                EqualCopies.Following following = compareBefore(session, number, comparison, comparisons);
                // The source does not follow while the shard before this one is compared.
                if (!awaitComparisons(session, comparisons, goingBack).isEmpty()) {
                    return;
                }
                cutover.run(number, following);
                follower.moved();
            }
        }
    }

    /** Adds tables from an interrupted deployment to replication; they would be missing on the other server. */
    private void learnTables(MoveSession session) throws SQLException {
        new NewTables(session, settings.patience(), listener).learn();
    }

    /**
     * Waits for comparisons, and stops the source before it follows a shard whose copy differs: a row that is right only there must not be
     * overwritten.
     */
    private Map<Integer, List<TableDifference>> awaitComparisons(
            MoveSession session, CutoverComparer comparisons, boolean goingBack) throws SQLException {
        Map<Integer, List<TableDifference>> different = comparisons.await();
        if (!goingBack && !different.isEmpty()) {
            session.reverse().stop(settings.patience(), listener);
        }
        return different;
    }

    /** Compares the shards that were cut over, even if the next shard failed. */
    private void endComparisons(
            MoveSession session, CutoverComparer comparisons, boolean goingBack, Exception failure) {
        try {
            awaitComparisons(session, comparisons, goingBack);
        } catch (SQLException | RuntimeException e) {
            if (e != failure) {
                failure.addSuppressed(e);
            }
        }
    }

    private static Advice keptBack(MoveSession session) {
        long id = session.taken().id();
        return Advice.of(
                KEPT_BACK,
                session.source().name(),
                session.target().name(),
                CliCommand.MOVE_VERIFY.with(id),
                CliCommand.MOVE_REVERSE.with(id));
    }

    /**
     * Compares a shard with its following copy, which may be opened to writes only if it is equal.
     *
     * @throws CopiesDifferException if it differs; the shard stays where it is, and takes writes
     */
    private EqualCopies.Following compareBefore(
            MoveSession session, int number, OnlineComparison comparison, CutoverComparer comparisons)
            throws SQLException {
        MoveShard shard = session.move().shard(number);
        List<String> tables = session.source().tables(ShardSet.of(number)).getOrDefault(number, List.of());
        List<TableDifference> differences = new ArrayList<>();
        EqualCopies.Following following = comparison.compareBeforeCutover(
                tables, comparisons.names(), () -> session.lease().verified(number, Verified.DIFFERENT), differences);
        if (differences.isEmpty()) {
            if (shard.verified() == Verified.DIFFERENT) {
                session.lease().verified(number, Verified.ONLINE);
            }
            listener.reached(MoveStep.FOUND_EQUAL);
            return following;
        }
        listener.compared(number, differences);
        Map<Integer, List<TableDifference>> all = new TreeMap<>(awaitComparisons(session, comparisons, false));
        all.put(number, differences);
        throw new CopiesDifferException(
                "the copy of shard %s on %s differs, so it was not cut over: %s has the shard, with all its rows, and takes its writes"
                        .formatted(
                                number,
                                session.target().name(),
                                session.source().name()),
                Advice.of(
                        "look at the differences, which %s shows again; %s removes the copies",
                        CliCommand.MOVE_VERIFY.with(session.taken().id()),
                        session.move().cancelCommand()),
                all);
    }

    /** @throws CopiesDifferException if a copy differed at its cutover, and nobody has said since that the source may follow again */
    private static void requireFollowed(MoveSession session) throws SQLException {
        ShardSet different = different(session.move());
        if (!different.isEmpty() && session.reverse().isDisabled()) {
            throw new CopiesDifferException(
                    "copies of %s differed at their cutover".formatted(Plural.shards(different)),
                    keptBack(session),
                    Map.of());
        }
    }

    /** Shards on the target whose copy on the source differed. */
    static ShardSet different(Move move) {
        return ShardSet.of(move.shards().stream()
                .filter(shard -> shard.phase() == ShardPhase.SWITCHED && shard.verified() == Verified.DIFFERENT)
                .map(MoveShard::shard)
                .toList());
    }

    /** Lets the source follow again, when a person wants to compare with it or to go back. */
    private static void letFollow(MoveSession session) throws SQLException {
        if (session.reverse().isDisabled()) {
            session.reverse().enable();
        }
    }

    /**
     * Compares everything before a cutover if a server has failed over and kept its slot: a standby that was behind lacks rows that the other server
     * has confirmed and that are never sent again, and reuses positions in its log that the other has seen with other contents.
     */
    private void compareAfterFailover(MoveSession session, ShardSet shards, ShardPhase wanted) throws SQLException {
        boolean source = session.forward().hasFailedOver();
        if (!source && !session.reverse().hasFailedOver()) {
            return;
        }
        String failed = source ? session.source().name() : session.target().name();
        if (session.forward().isAhead() || session.reverse().isAhead()) {
            throw new CopiesDifferException(
                    "%s failed over to a standby that was behind what the other server has got from it, so copies differ, and no shard was cut over"
                            .formatted(failed),
                    Map.of());
        }
        Move move = session.move();
        ShardSet left = ShardSet.of(shards.stream()
                .filter(number -> move.shard(number).phase() != wanted)
                .toArray());
        Map<Integer, List<TableDifference>> differences = verify(session, left);
        if (!differences.isEmpty()
                && !source
                && move.shardSet(ShardPhase.SWITCHED).isEmpty()) {
            copyAgain(session);
            differences = verify(session, left);
        }
        if (!differences.isEmpty()) {
            throw new CopiesDifferException(
                    "%s failed over to a standby that was behind, so copies of %s differ, and no shard was cut over"
                            .formatted(failed, Plural.shards(ShardSet.of(differences.keySet()))),
                    differences);
        }
    }

    /**
     * Copies rows that the target lacks although it had confirmed them: even with a synchronous standby, a subscription's worker may have
     * confirmed changes that the standby had not received when its server was killed. Only copies are there, so they are made anew, unless they
     * have rows that the shards lack.
     */
    private void copyAgain(MoveSession session) throws SQLException {
        session.lease().enter(MovePhase.COPYING);
        new Preparation(session, settings, limits, listener).run();
    }

    /**
     * Ends a move with all shards on the target: removes the source's copies and all other objects of the move.
     *
     * @throws CopiesDifferException if copies differ
     */
    public void complete(long id) {
        work(id, session -> {
            Move move = session.move();
            checkComplete(move);
            if (move.phase() != MovePhase.COMPLETING) {
                learnTables(session);
                compareForTheLastTime(session);
                session.lease().enter(MovePhase.COMPLETING);
            }
            new CleanUp(session, settings, listener).run();
            return true;
        });
    }

    /**
     * Refuses a move that cannot be {@link #complete completed} in its state.
     *
     * @throws MoveRefusedException if a shard is on its source, or the move is being cancelled
     */
    public static void checkComplete(Move move) {
        if (move.phase() != MovePhase.COMPLETING) {
            requireFollowing(move);
            requireSwitched(move);
        }
    }

    /**
     * Refuses a move that cannot be {@link #cancel cancelled} in its state.
     *
     * @throws MoveRefusedException if a shard is on its target and may not stay there, or the move is being completed
     */
    public static void checkCancel(Move move, boolean keepMoved) {
        if (move.phase() == MovePhase.COMPLETING) {
            throw new MoveRefusedException(
                    "move %s is being completed, and has no way back".formatted(move.id()),
                    Advice.of("run %s again", CliCommand.MOVE_COMPLETE.with(move.id())));
        }
        if (move.phase() != MovePhase.CANCELLING) {
            requireCancellable(move, keepMoved);
        }
    }

    /**
     * Refuses a move if none of its shards can be cut over in its state, in either direction.
     *
     * @throws MoveRefusedException if it is not following, or is being ended
     */
    public static void checkCutover(Move move) {
        requireFollowing(move);
    }

    /** This process's knowledge of the copies of the current move. */
    private EqualCopies copies(MoveSession session) throws SQLException {
        long id = session.move().id();
        if (copies.move() != id) {
            copies = new EqualCopies(id);
        }
        return copies;
    }

    private static void requireSwitched(Move move) {
        ShardSet left = move.shardSet(ShardPhase.COPIED);
        if (!left.isEmpty()) {
            throw new MoveRefusedException(
                    "move %s is not complete: %s still on %s"
                            .formatted(move.id(), Plural.shards(left, "is", "are"), move.source()),
                    Advice.of("cut them over first, or give them up: %s", move.cancelCommand()));
        }
    }

    /**
     * Compares the source's copies with the shards on the target, and leaves them equal and sealed.
     *
     * <p>Apparent differences are checked again while the source follows, since a row that was changed and changed back at the wrong
     * moment seems to differ once.
     */
    private void compareForTheLastTime(MoveSession session) throws SQLException {
        requireFollowed(session);
        ShardSet shards = session.move().shardSet(ShardPhase.SWITCHED);
        Set<Integer> behind = new TreeSet<>();
        IntFunction<TableDifference.Filter> filters = withoutRowsThatTheSourceLost(session, behind);
        for (int attempt = 1; !shards.isEmpty(); attempt++) {
            // Tells whoever finds the move if this process is killed.
            session.lease()
                    .problem(
                            "its copies on %s are being compared for the last time, and do not follow until that is done"
                                    .formatted(session.taken().source()));
            Map<Integer, List<TableDifference>> suspects;
            try (RemovalComparison comparison = new RemovalComparison(session, settings, listener, copies(session))) {
                suspects = comparison.run(shards, filters);
            }
            if (suspects.isEmpty()) {
                tellOfLostRows(session, behind);
                listener.reached(MoveStep.COMPARED_AGAIN);
                return;
            }
            new MoveRecovery(session, settings.patience(), listener).run();
            letFollow(session);
            session.lease().problem("");
            Map<Integer, List<TableDifference>> differences = verify(session, ShardSet.of(suspects.keySet()), filters);
            if (!differences.isEmpty()) {
                tellOfLostRows(session, behind);
                throw new CopiesDifferException(
                        "copies of %s differ, so the source's are not removed"
                                .formatted(Plural.shards(ShardSet.of(differences.keySet()))),
                        differences);
            }
            if (attempt == LAST_COMPARISONS) {
                throw new MoveException(
                        "rows of %s change too often to be compared, so the source's are not removed; run the same command again at a quieter time"
                                .formatted(Plural.shards(ShardSet.of(suspects.keySet()))));
            }
        }
    }

    /**
     * Ignores rows that only the target has if the source failed over or was restored: it lacks for good what it had confirmed before. Nothing
     * of such a row is removed with the source's copy.
     *
     * @param behind gets the shards with such rows
     */
    private static IntFunction<TableDifference.Filter> withoutRowsThatTheSourceLost(
            MoveSession session, Set<Integer> behind) throws SQLException {
        if (session.forward().isUnbroken()) {
            return shard -> TableDifference.Filter.ALL;
        }
        return shard -> rows -> {
            List<Difference> left = TableDifference.Filter.OF_FOLLOWER.of(rows);
            if (left.size() < rows.size()) {
                behind.add(shard);
            }
            return left;
        };
    }

    private void tellOfLostRows(MoveSession session, Set<Integer> behind) {
        if (!behind.isEmpty()) {
            listener.streamFails(
                    "%s has failed over or was restored, and its copies of %s lack rows that %s has, which are kept there"
                            .formatted(
                                    session.source().name(),
                                    Plural.shards(ShardSet.of(behind)),
                                    session.target().name()));
        }
    }

    /** The ways to end a move without completing it. */
    public enum End {
        /** The shards are on the source; none may be on the target. */
        BACK(false),
        /** The shards are on the source, and the target's copies may be removed whatever they contain. */
        BACK_UNCOMPARED(false),
        /** Shards stay where they are, on either server: the way out when the two can no longer follow each other. */
        KEPT(true),
        /**
         * Shards stay where they are, and the source's copies are removed without the last comparison, since the source can no longer
         * follow. A copy that was not compared since its cutover must not have anything that its shard lacks.
         */
        KEPT_UNCOMPARED(true);

        private final boolean keepsMoved;

        End(boolean keepsMoved) {
            this.keepsMoved = keepsMoved;
        }

        /** The way to end a move that the operator's options ask for. */
        public static End of(boolean keepMoved, boolean uncompared) {
            if (keepMoved) {
                return uncompared ? KEPT_UNCOMPARED : KEPT;
            }
            return uncompared ? BACK_UNCOMPARED : BACK;
        }
    }

    /**
     * Ends a move without completing it: removes the copies that are not the shards, and all other objects of the move.
     *
     * @throws CopiesDifferException if copies to be removed differ from the shards where that means a loss
     * @throws MoveRefusedException if shards are on the wrong server for this, or a copy was not compared since its cutover
     */
    public void cancel(long id, End end) {
        try {
            work(id, session -> {
                Move move = session.move();
                checkCancel(move, end.keepsMoved);
                if (move.phase() != MovePhase.CANCELLING) {
                    prepareEnd(session, end);
                    session.lease().enter(MovePhase.CANCELLING);
                }
                new CleanUp(session, settings, listener).run();
                return true;
            });
        } catch (ServerRefusalException e) {
            throw mayBeLost(id, e);
        }
    }

    private ShardflakeException mayBeLost(long id, ServerRefusalException failure) {
        try {
            checkCancelWithoutTarget(id);
        } catch (ShardflakeException e) {
            return failure;
        }
        MoveException lost = new MoveException(
                failure.kind(),
                String.valueOf(failure.getMessage()),
                Advice.of("if %s is gone for good: %s", move(id).target(), CliCommand.MOVE_CANCEL_LOST.with(id)));
        lost.addSuppressed(failure);
        return lost;
    }

    /**
     * Checks whether {@link #cancelWithoutTarget} would succeed. Changes nothing.
     *
     * @throws MoveRefusedException if not
     */
    public void checkCancelWithoutTarget(long id) {
        Sql.translating(() -> {
            LostTarget.check(move(id), servers);
            return true;
        });
    }

    /**
     * Ends a move whose target is gone for good, using only the source and the catalog. Should the target come back, its copies refuse writes.
     *
     * @throws MoveRefusedException if the target answers, or has a shard, or has had one whose last rows the source may lack
     */
    public void cancelWithoutTarget(long id) {
        Sql.translating(() -> {
            LostTarget.cancel(catalog, id, servers);
            return true;
        });
    }

    private void prepareEnd(MoveSession session, End end) throws SQLException {
        switch (end) {
            case BACK -> NewerCopyGuard.refuse(session, session.forward(), listener);
            case BACK_UNCOMPARED -> {
                // The target's copies are not the shards, and removing them helps when they differ.
            }
            case KEPT -> {
                NewerCopyGuard.refuse(session, session.forward(), listener);
                NewerCopyGuard.refuse(session, session.reverse(), listener);
                try {
                    compareForTheLastTime(session);
                } catch (CopiesDifferException e) {
                    throw e;
                } catch (MoveException e) {
                    throw new MoveException(
                            e.kind(),
                            "the source's copies could not be compared, and are kept: " + e.getMessage(),
                            Advice.of(
                                    "if they may be removed anyway: %s",
                                    session.move().cancelUncomparedCommand()),
                            e);
                }
            }
            case KEPT_UNCOMPARED -> {
                ShardSet uncompared = uncomparedSinceCutover(session);
                if (session.reverse().hasSubscription()) {
                    session.reverse().stop(settings.patience(), listener);
                }
                ShardSet copies = session.source().present(session.move().shardSet(ShardPhase.SWITCHED));
                Seal.putOn(session.source(), copies);
                NewerCopyGuard.refuseOnSource(session, uncompared, listener);
            }
        }
    }

    /**
     * The shards on the target that were not found equal to their copies since the cutover.
     *
     * @throws MoveRefusedException if the source can still follow, so that they can be compared, or brought back
     */
    private static ShardSet uncomparedSinceCutover(MoveSession session) throws SQLException {
        Move move = session.move();
        ShardSet uncompared = ShardSet.of(move.shards().stream()
                .filter(shard -> shard.phase() == ShardPhase.SWITCHED
                        && (shard.verified() == Verified.NOT_COMPARED || shard.verified() == Verified.DIFFERENT))
                .map(MoveShard::shard)
                .toList());
        if (!uncompared.isEmpty() && session.reverse().canFollow()) {
            throw new MoveRefusedException(
                    "copies of %s were not compared since their cutover, or differed, so the source's must not be removed"
                            .formatted(Plural.shards(uncompared)),
                    Advice.of(
                            "see %s, compare the former with %s, or bring them back with %s",
                            CliCommand.MOVE_STATUS_OF.with(move.id()),
                            CliCommand.MOVE_VERIFY.with(move.id()),
                            CliCommand.MOVE_REVERSE.with(move.id())));
        }
        return uncompared;
    }

    /** Reconciles the servers with the catalog after an interrupted move, so that its shards accept writes where they are. */
    public void settle(long id) {
        work(id, session -> true);
    }

    /** Whether a command is working on a move. */
    public boolean isTakenUp(long id) {
        return Sql.translating(() -> catalog.isTakenUp(id));
    }

    private static void requireCancellable(Move move, boolean keepMoved) {
        ShardSet switched = move.shardSet(ShardPhase.SWITCHED);
        if (!keepMoved && !switched.isEmpty()) {
            throw new MoveRefusedException(
                    "%s of move %s %s on %s already"
                            .formatted(
                                    Plural.shards(switched),
                                    move.id(),
                                    Plural.choose(switched, "is", "are"),
                                    move.target()),
                    Advice.of(
                            "bring them back with %s first, or leave them there with %s",
                            CliCommand.MOVE_REVERSE.with(move.id()), CliCommand.MOVE_CANCEL_KEEPING.with(move.id())));
        }
    }

    private static void requireFollowing(Move move) {
        refuseEnding(move);
        if (move.phase() != MovePhase.FOLLOWING) {
            throw new MoveRefusedException(
                    "move %s is %s; it must be following first".formatted(move.id(), move.phase()),
                    Advice.of("run %s again", CliCommand.MOVE_START.with(move.shardSet(), move.target())));
        }
    }

    private static void refuseEnding(Move move) {
        if (move.phase() == MovePhase.COMPLETING || move.phase() == MovePhase.CANCELLING) {
            throw new MoveRefusedException(
                    "move %s is %s".formatted(move.id(), move.phase()),
                    Advice.of("run %s again to end it", move.nextCommand()));
        }
    }

    @FunctionalInterface
    private interface Work<T> {
        T run(MoveSession session) throws SQLException;
    }

    /**
     * Takes over the move and works on it, retrying while servers fail. The time limit counts from the first failure, and starts anew when
     * the move has made progress since.
     */
    private <T> T work(long id, Work<T> work) {
        return Sql.translating(() -> workUntilDone(id, work));
    }

    private <T> T workUntilDone(long id, Work<T> work) throws SQLException {
        try (LockWatch locks = LockWatch.begin(() -> places(id), settings.patience(), listener::waits)) {
            return workUntilDone(id, work, locks);
        }
    }

    private List<LockWatch.Place> places(long id) throws SQLException {
        Move move = catalog.find(id);
        return List.of(
                LockWatch.Place.of(servers.apply(move.source()), move.tag()),
                LockWatch.Place.of(servers.apply(move.target()), move.tag()),
                new LockWatch.Place("the catalog", catalog.url(), move.tag(), true));
    }

    private <T> T workUntilDone(long id, Work<T> work, LockWatch locks) throws SQLException {
        RetryDeadline patience = new RetryDeadline(settings.patience());
        MoveSession.Claims claims = new MoveSession.Claims();
        String stood = "";
        String told = "";
        while (true) {
            try (MoveSession session = MoveSession.takeUp(catalog, id, claims, servers, listener, locks)) {
                new MoveRecovery(session, settings.patience(), listener).run();
                String stands = session.move().progress() + ", steps " + claims.stepsDone();
                if (!stands.equals(stood)) {
                    patience.restart();
                }
                stood = stands;
                return work.run(session);
            } catch (MoveRefusedException e) {
                throw e;
            } catch (StreamLostException e) {
                settle(id, claims, e, Optional.empty(), locks);
                MoveException lost = new MoveException(
                        e.kind(),
                        String.valueOf(e.getMessage()),
                        catalog.find(id).wayOut());
                lost.addSuppressed(e);
                throw lost;
            } catch (SQLException | RuntimeException e) {
                Optional<SQLException> outage = outage(e);
                if (outage.isEmpty() || patience.isOver()) {
                    settle(id, claims, e, outage.filter(Sql::isOutage), locks);
                    locks.throwInstead(e);
                    throw e;
                }
                listener.interrupted(Sql.message(outage.get()));
                told = tellOfLoss(id, told);
                Sleep.millis(Sql.isShortage(outage.get()) ? ROOM_MILLIS : RETRY_MILLIS);
            }
        }
    }

    /**
     * Reports losses while waiting: while one server is down, the other may have lost something that the move needs, which waiting does not
     * bring back.
     */
    private String tellOfLoss(long id, String told) {
        try {
            String lost = String.join("; ", MoveStatus.losses(catalog.find(id), servers));
            if (!lost.isEmpty() && !lost.equals(told)) {
                listener.streamFails(lost);
            }
            return lost;
        } catch (SQLException | RuntimeException e) {
            return told; // The catalog or a server fails, which was told.
        }
    }

    /** Reopens shards after a failure that a retry would meet again. */
    private void settle(
            long id, MoveSession.Claims claims, Exception failure, Optional<SQLException> outage, LockWatch locks) {
        if (outage.isPresent() || Thread.currentThread().isInterrupted()) {
            return;
        }
        try (MoveSession session = MoveSession.takeUp(catalog, id, claims, servers, listener, locks)) {
            new MoveRecovery(session, atMost(settings.patience(), AFTER_FAILURE), listener).run();
            if (!(failure instanceof ExitDelay.EndingException)) {
                session.lease().problem(MoveException.text(failure));
            }
        } catch (SQLException | RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    private static Duration atMost(Duration one, Duration most) {
        return one.compareTo(most) < 0 ? one : most;
    }

    private static Optional<SQLException> outage(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException sql && (Sql.isOutage(sql) || Sql.isShortage(sql))) {
                return Optional.of(sql);
            }
        }
        return Optional.empty();
    }
}
