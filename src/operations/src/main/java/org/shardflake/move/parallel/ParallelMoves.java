/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.parallel;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.ServerRefusalException;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MovePhase;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.Mover;
import org.shardflake.move.exception.CopiesDifferException;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.internal.session.ServerCapacity;
import org.shardflake.preflight.PreflightCheck;
import org.shardflake.preflight.PreflightReport;

/**
 * Several concurrent moves with shared limits: bytes per second, write pauses per minute, and one cutover at a time.
 *
 * <p>A move has nothing in common with another one but its servers: it has its own shards, which are in no other move, its own lease,
 * claim, slots and subscriptions. So one server may be the source of several, the target of several, or both; see decision 0043. When a
 * move fails, those in progress go on to their ends, and none begins any more. Not thread-safe.
 */
public final class ParallelMoves {

    /** The number of moves that PostgreSQL's own max_logical_replication_workers allows one server. */
    public static final int DEFAULT = 4;

    /** The age from which a check is repeated. */
    private static final Duration CHECK_IS_FRESH = Duration.ofMinutes(1);

    private static final int END_SECONDS = 30;

    /** Receives the events of the moves, from several threads. */
    public interface Watcher {

        /** Ignores everything. */
        Watcher NONE = new Watcher() {};

        /** Called before a move starts, with its approximate size. Returns the listener for that move. */
        default MoveListener wanted(MoveRequest move, long bytes) {
            return MoveListener.NONE;
        }

        /** Called when a server has room for fewer concurrent moves than wanted, with the reason. */
        default void limited(String found) {}

        /** Called when a move has started or resumed. Not told if one of its servers refuses to be asked then. */
        default void begun(MoveRequest request, MoveStatus status) {}

        /** Called when a move has been carried out, with its state as of the last cutover. */
        default void ended(Move move, Duration took) {}

        /** Called when a move cannot continue. */
        default void failed(MoveRequest move, RuntimeException failure) {}
    }

    private final Mover mover;
    private final int parallel;
    private final String reason;
    private final boolean keep;
    private final Watcher watcher;

    /**
     * @param parallel how many at once, at most
     * @param keep whether to leave moves uncompleted, so that they can be reversed
     */
    public ParallelMoves(Mover mover, int parallel, String reason, boolean keep, Watcher watcher) {
        if (parallel < 1) {
            throw new IllegalArgumentException("%s concurrent moves; at least 1 is required".formatted(parallel));
        }
        this.mover = mover;
        this.parallel = parallel;
        this.reason = reason;
        this.keep = keep;
        this.watcher = watcher;
    }

    /** Runs the default number of concurrent moves, each of which is completed. */
    public ParallelMoves(Mover mover, String reason) {
        this(mover, DEFAULT, reason, false, Watcher.NONE);
    }

    /** All unfinished moves, oldest first. */
    public List<Move> unfinished() {
        return mover.moves();
    }

    private final class Work {
        private final MoveRequest request;
        private final Mover its;
        private final boolean isNew;
        private final boolean follows;
        private final long checked = System.nanoTime();

        /** @param follows whether it has the slots and workers that it needs */
        Work(MoveRequest request, Optional<PreflightReport> report, boolean follows) {
            this.request = request;
            this.isNew = report.isPresent();
            this.follows = follows;
            MoveListener listener =
                    watcher.wanted(request, report.map(PreflightReport::bytes).orElse(0L));
            report.ifPresent(found -> found.with(PreflightCheck.Outcome.WARNING).forEach(listener::warned));
            this.its = mover.beside(listener);
        }

        private Move begin() {
            boolean isFresh = System.nanoTime() - checked < CHECK_IS_FRESH.toNanos();
            return isNew && isFresh
                    ? its.record(request.source(), request.target(), request.shards(), reason)
                    : its.beginOrResume(request.source(), request.target(), request.shards(), reason);
        }

        private void tell(Move begun) {
            try {
                watcher.begun(request, its.status(begun));
            } catch (ServerRefusalException | MoveException e) {
                // The move itself has more patience with a server that is down, or a table that is locked.
            }
        }

        private End end() {
            try {
                return new End(this, Optional.of(carryOut()), Optional.empty());
            } catch (RuntimeException e) {
                return new End(this, Optional.empty(), Optional.of(e));
            } catch (Error e) {
                // As when memory is short: the others go on to their ends all the same.
                return new End(this, Optional.empty(), Optional.of(new MoveException("failed with " + e, e)));
            }
        }

        private Move carryOut() {
            long start = System.nanoTime();
            Move begun = begin();
            tell(begun);
            Move done = its.carryOut(begun, keep);
            watcher.ended(done, Duration.ofNanos(System.nanoTime() - start));
            return done;
        }
    }

    /** The end of a move. */
    private record End(Work work, Optional<Move> done, Optional<RuntimeException> failure) {}

    /**
     * Carries out moves, new and interrupted ones; returns when all have ended.
     *
     * @return the moves as they were after their last cutovers
     * @throws MoveRefusedException if a check fails; then none has begun
     * @throws SomeMovesFailedException if some failed; when there is only one, what it failed with
     */
    public List<Move> run(List<MoveRequest> wanted) throws InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(parallel, work -> {
            Thread thread = new Thread(work, "shardflake move");
            thread.setDaemon(true); // A command that is interrupted leaves it where it stands.
            return thread;
        });
        try {
            List<Work> works = check(wanted, threads);
            return run(works, threads);
        } finally {
            // Something runs still only if this thread is interrupted, or a check has failed.
            threads.shutdownNow();
            threads.awaitTermination(END_SECONDS, TimeUnit.SECONDS);
        }
    }

    /** Refuses everything if any part cannot be moved, before anything starts. */
    private List<Work> check(List<MoveRequest> wanted, ExecutorService threads) throws InterruptedException {
        Map<MoveRequest, Move> begun = new HashMap<>();
        unfinished().forEach(move -> begun.put(MoveRequest.of(move), move));
        wanted.forEach(request -> begun.values().forEach(move -> refuse(request, move)));
        Map<MoveRequest, Future<PreflightReport>> checks = new LinkedHashMap<>();
        for (MoveRequest request : wanted) {
            if (!begun.containsKey(request)) {
                checks.put(request, threads.submit(() -> check(request, wanted.size() > 1)));
            }
        }
        List<Work> works = new ArrayList<>();
        for (MoveRequest request : wanted) {
            Future<PreflightReport> check = checks.get(request);
            Move its = begun.get(request);
            works.add(new Work(
                    request,
                    check == null ? Optional.empty() : Optional.of(await(check)),
                    its != null && its.phase().compareTo(MovePhase.COPYING) > 0));
        }
        return works;
    }

    /** Refuses shards that are in another move, unless that move is the wanted one and can continue. */
    private static void refuse(MoveRequest wanted, Move other) {
        ShardSet both = wanted.shards().and(other.shardSet());
        if (both.isEmpty()) {
            return;
        }
        if (!wanted.equals(MoveRequest.of(other))) {
            throw new MoveRefusedException(
                    "no move was started: shards to move %s are in move %s %s already: %s"
                            .formatted(wanted, other.id(), MoveRequest.of(other), both),
                    Advice.of("finish or cancel that one first; %s shows it", CliCommand.MOVE_STATUS));
        }
        if (other.phase() == MovePhase.CANCELLING) {
            throw new MoveRefusedException(
                    "no move was started: move %s %s is being cancelled".formatted(other.id(), wanted),
                    Advice.of("run %s again to end it", CliCommand.MOVE_CANCEL.with(other.id())));
        }
    }

    private PreflightReport check(MoveRequest request, boolean isOneOfMany) {
        try {
            return mover.requirePassing(request.source(), request.target(), request.shards());
        } catch (MoveRefusedException e) {
            if (!isOneOfMany) {
                throw e;
            }
            throw new MoveRefusedException(
                    "no move was started, since the one %s cannot be: %s".formatted(request, e.getMessage()),
                    e.advice().orElse(null));
        }
    }

    private static <T> T await(Future<T> future) throws InterruptedException {
        try {
            return future.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException unchecked) {
                throw unchecked;
            }
            throw new IllegalStateException("a check failed", e.getCause());
        }
    }

    private List<Move> run(List<Work> works, ExecutorService threads) throws InterruptedException {
        MoveSchedule<Work> schedule = new MoveSchedule<>(works, work -> work.request, parallel, room(works));
        CompletionService<End> ends = new ExecutorCompletionService<>(threads);
        int running = 0;
        Map<MoveRequest, RuntimeException> failures = new LinkedHashMap<>();
        List<Move> done = new ArrayList<>();
        while (true) {
            while (failures.isEmpty()) {
                Optional<Work> next = schedule.begin();
                if (next.isEmpty()) {
                    break;
                }
                ends.submit(next.get()::end);
                running++;
            }
            if (running == 0) {
                break;
            }
            End end = await(ends.take());
            running--;
            MoveRequest request = end.work().request;
            schedule.ended(end.work());
            end.done().ifPresent(done::add);
            end.failure().ifPresent(failure -> {
                failures.put(request, failure);
                watcher.failed(request, failure);
            });
        }
        if (!failures.isEmpty()) {
            throw failure(works.size(), done.size(), schedule.waiting(), failures);
        }
        return done;
    }

    /** The capacity of each server, read once. Room for one is assumed, since the checks before a move say more. */
    private Map<String, Integer> room(List<Work> works) {
        Map<String, Integer> rooms = new TreeMap<>();
        TreeSet<String> servers = new TreeSet<>();
        works.forEach(work -> {
            servers.add(work.request.source());
            servers.add(work.request.target());
        });
        for (String server : servers) {
            int its = (int)
                    works.stream().filter(work -> work.request.uses(server)).count();
            int following = (int) works.stream()
                    .filter(work -> work.follows && work.request.uses(server))
                    .count();
            int most = Math.min(parallel, its);
            if (most > Math.max(1, following)) {
                ServerCapacity room = mover.room(server);
                int has = Math.max(1, following + room.moves());
                if (has < most) {
                    watcher.limited("%s has room for %s concurrent moves, not %s: %s; for more, raise it and restart"
                            .formatted(server, has, most, room.because()));
                    rooms.put(server, has);
                }
            }
        }
        return rooms;
    }

    private static RuntimeException failure(
            int all, int done, int waiting, Map<MoveRequest, RuntimeException> failures) {
        RuntimeException first = failures.values().iterator().next();
        if (all == 1) {
            return first;
        }
        boolean differ = failures.values().stream().anyMatch(CopiesDifferException.class::isInstance);
        Kind kind = first instanceof ShardflakeException ours ? ours.kind() : Kind.FAILURE;
        if (differ) {
            kind = Kind.VERIFICATION;
        } else if (done > 0) {
            kind = Kind.PARTLY_DONE;
        }
        return new SomeMovesFailedException(
                kind,
                "%s of %s moves failed, %s are done, and %s were not started: %s"
                        .formatted(
                                failures.size(),
                                all,
                                done,
                                waiting,
                                failures.entrySet().stream()
                                        .map(failure -> "%s: %s"
                                                .formatted(failure.getKey(), MoveException.text(failure.getValue())))
                                        .collect(Collectors.joining("; "))),
                Advice.of(
                        "fix what failed, and run the same command again for the rest; %s shows the moves in progress",
                        CliCommand.MOVE_STATUS),
                failures);
    }
}
