/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Array;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.changes.ServerStream;
import org.shardflake.compare.EqualCopies;
import org.shardflake.deploy.ShardSchemaCopy;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.exception.StreamLostException;
import org.shardflake.move.internal.session.LockWatch;
import org.shardflake.move.internal.session.MoveServerSession;
import org.shardflake.move.internal.session.OpenShard;
import org.shardflake.move.internal.session.ReferenceVersion;
import org.shardflake.move.internal.session.Sleep;
import org.shardflake.replication.InboundSubscriptions;

/**
 * Cuts shards over from the server that has them to the other server of their move. For one thread.
 *
 * <p>Each attempt fences the shard on its server, waits until the other server has everything, opens it there in an uncommitted
 * transaction, changes the shard map, and commits. Until the map is changed, an attempt can be given up, which happens when it takes
 * too long: the shard is then opened where it was. Once the map is changed, it can only go forward.
 */
final class Cutover implements AutoCloseable {

    /** The part of the pause reserved for changing the map and opening the other server. */
    private static final Duration RESERVE = Duration.ofMillis(20);

    /** The time after a fence for which a router may still consider the shard open; see {@code fence_ids}. */
    private static final Duration LEASES = Duration.ofMillis(2);

    /** The age above which a writing transaction is awaited before fencing. */
    private static final Duration LONG_TRANSACTION = Duration.ofMillis(250);

    /** The fence of a cutover; unlike fence_shard, it does not wait for leases, which end while the other server catches up. */
    private static final String FENCE =
            "SELECT shardflake.fence_tables(%1$s, true); SELECT shardflake.fence_ids(%1$s, true);\n";

    private static final String OLDEST_WRITER = """
            SELECT COALESCE(max(extract(epoch FROM clock_timestamp() - a.xact_start)) * 1000, 0)::bigint
              FROM pg_locks l JOIN pg_stat_activity a USING (pid)
             WHERE l.locktype = 'relation' AND l.granted AND l.mode <> 'AccessShareLock' AND l.mode <> 'RowShareLock'
               AND a.backend_type = 'client backend' AND l.pid <> pg_backend_pid()
               AND l.relation IN (SELECT shardflake.relations(?))
            """;

    private final MoveSession session;
    private final MoveSettings settings;
    private final MoveLimits limits;
    private final MoveListener listener;
    private final CutoverComparer comparisons;
    private final Connection sourceWork;
    private final Connection targetWork;
    private final boolean hasReferenceTables;

    Cutover(
            MoveSession session,
            MoveSettings settings,
            MoveLimits limits,
            MoveListener listener,
            CutoverComparer comparisons)
            throws SQLException {
        this.session = session;
        this.settings = settings;
        this.limits = limits;
        this.listener = listener;
        this.comparisons = comparisons;
        this.hasReferenceTables = ReferenceVersion.isKept(session.source().control())
                && ReferenceVersion.isKept(session.target().control());
        this.sourceWork = open(session.source());
        try {
            this.targetWork = open(session.target());
        } catch (SQLException e) {
            Sql.close(sourceWork);
            throw e;
        }
    }

    private Connection open(MoveServerSession side) throws SQLException {
        Connection connection = side.connect();
        Sql.execute(
                connection,
                "SET lock_timeout = %s; SET statement_timeout = %s"
                        .formatted(
                                settings.lockTimeout().toMillis(),
                                settings.pause().toMillis()));
        return connection;
    }

    /**
     * Compares the schemas of all shards in one step, which takes no longer than comparing one. A table created later meets the fence, which
     * refuses.
     */
    void checkSchema(ShardSet shards) throws SQLException {
        Preparation.checkSchema(
                new ShardSchemaCopy(session.source().control(), session.target().control()), shards);
    }

    /**
     * Cuts a shard over, in as many attempts as the time limit allows.
     *
     * @param following how its copy was compared just before; null if it was not
     * @throws MoveException when patience has run out; the shard is open where it was
     */
    void run(int number, EqualCopies.@Nullable Following following) throws SQLException {
        MoveShard shard = session.move().shard(number);
        List<String> tables = session.source().tables(ShardSet.of(number)).getOrDefault(number, List.of());
        checkReady(shard);
        long end = System.nanoTime() + settings.patience().toNanos();
        String problem = "";
        for (int attempt = 1; System.nanoTime() - end < 0; attempt++) {
            end += limits.awaitPause(listener);
            problem = awaitQuiet(shard, end).orElse(problem);
            Optional<String> failure = new Attempt(shard, tables, following).run(attempt);
            if (failure.isEmpty()) {
                return;
            }
            problem = failure.get();
            listener.attemptFailed(number, problem);
            session.source().cancelAutovacuum(number);
            session.target().cancelAutovacuum(number);
            Sleep.millis(ThreadLocalRandom.current().nextLong(20, Math.min(2000, 50L << Math.min(attempt, 6))));
        }
        throw new MoveException(
                "shard %s could not be cut over in %s s, and is open on %s as before; the last attempt: %s"
                        .formatted(number, settings.patience().toSeconds(), shard.server(), problem));
    }

    private void checkReady(MoveShard shard) throws SQLException {
        if (shard.verified() == Verified.DIFFERENT && session.carrying(shard) == session.forward()) {
            throw new MoveRefusedException(
                    "shard %s was not cut over: its copy on %s was found to differ"
                            .formatted(shard.shard(), session.target().name()),
                    Advice.of(
                            "repair it, and run %s; or give it up: %s",
                            CliCommand.MOVE_VERIFY.with(session.taken().id()),
                            session.move().cancelCommand()));
        }
        requireSlots(shard.shard());
        refuseInbound(shard, session.carrying(shard).publisher());
        refuseInbound(shard, session.carrying(shard).subscriber());
        requireReaders(shard);
        awaitBack(shard);
    }

    /** Requires that all readers of the shard's changes will continue to get them; a reader may have started after the move. */
    private void requireReaders(MoveShard shard) throws SQLException {
        Stream carrying = session.carrying(shard);
        Optional<ServerStream.Obstacle> obstacle =
                changes(carrying.publisher()).obstacle(changes(carrying.subscriber()));
        if (obstacle.isPresent()) {
            throw new MoveRefusedException(
                    "shard %s was not cut over: %s"
                            .formatted(shard.shard(), obstacle.get().what()),
                    obstacle.get().remedy());
        }
    }

    private static ServerStream changes(MoveServerSession side) {
        return new ServerStream(side.name(), side.control());
    }

    /** Requires the slots, which every comparison and cutover depends on. */
    void requireSlots(int number) throws SQLException {
        MoveShard shard = session.move().shard(number);
        Stream carrying = session.carrying(shard);
        if (!carrying.hasSlot()) {
            throw new MoveRefusedException(
                    "shard %s was not cut over: %s has lost the replication slot %s, as in a failover, so %s does not get what is written"
                            .formatted(
                                    number,
                                    carrying.publisher().name(),
                                    carrying.name(),
                                    carrying.subscriber().name()),
                    session.move().wayOut());
        }
        if (!session.back(shard).hasSlot()) {
            awaitBack(shard); // which says why it cannot
        }
    }

    private void awaitBack(MoveShard shard) throws SQLException {
        try {
            session.back(shard).await(settings.patience(), listener);
        } catch (MoveException e) {
            String message = "shard %s was not cut over, since there would be no way back: %s"
                    .formatted(shard.shard(), e.getMessage());
            throw e instanceof StreamLostException ? new StreamLostException(message) : new MoveException(message, e);
        }
    }

    /** Refuses a shard that has an inbound subscription, which may have appeared since the checks before the move. */
    private static void refuseInbound(MoveShard shard, MoveServerSession side) throws SQLException {
        List<String> inbound = InboundSubscriptions.find(side.control(), ShardSet.of(shard.shard()));
        if (!inbound.isEmpty()) {
            throw new MoveRefusedException("shard %s was not cut over: on %s, %s. %s"
                    .formatted(shard.shard(), side.name(), String.join(", ", inbound), InboundSubscriptions.REMEDY));
        }
    }

    /** Waits, without blocking writers, for anything that would only make an attempt fail; returns what it was still waiting for at the end. */
    private Optional<String> awaitQuiet(MoveShard shard, long end) throws SQLException {
        Stream carrying = session.carrying(shard);
        Duration close = settings.pause().dividedBy(4);
        String problem = null;
        String told = "";
        long voice = System.nanoTime() + 1_000_000_000L;
        StreamWatch watch = new StreamWatch(carrying, settings.patience(), listener);
        while (System.nanoTime() - end < 0) {
            long oldest = Sql.number(carrying.publisher().control(), OLDEST_WRITER, shard.shard());
            if (oldest > LONG_TRANSACTION.toMillis()) {
                problem = "a transaction has been writing to it for %s ms".formatted(oldest);
                if (System.nanoTime() - voice > 0) {
                    voice = System.nanoTime() + 1_000_000_000L;
                    String writers = carrying.publisher().writers(shard.shard());
                    problem += ": " + writers;
                    if (!told.equals(writers)) {
                        told = writers;
                        listener.waits("shard %s is cut over when transactions that write to it on %s end: %s"
                                .formatted(shard.shard(), carrying.publisher().name(), writers));
                    }
                }
                Sleep.millis(50);
            } else if (carrying.measureLag(Duration.ofSeconds(5)).compareTo(close) > 0) {
                watch.look();
                problem = "%s is behind %s by more than %s ms"
                        .formatted(
                                carrying.subscriber().name(),
                                carrying.publisher().name(),
                                close.toMillis());
            } else {
                return Optional.empty();
            }
        }
        return Optional.ofNullable(problem);
    }

    /** An attempt to cut a shard over. */
    private final class Attempt {

        private final MoveShard shard;
        private final List<String> tables;
        private final Stream carrying;
        private final Stream back;
        private final EqualCopies.@Nullable Following following;
        private final Connection from;
        private final Connection to;
        private long mark;
        private long leasesEnd;
        private long referenceVersion;
        private @Nullable Array sequenceNames;
        private @Nullable Array sequenceValues;

        Attempt(MoveShard shard, List<String> tables, EqualCopies.@Nullable Following following) {
            this.following = following;
            this.shard = shard;
            this.tables = tables;
            this.carrying = session.carrying(shard);
            this.back = session.back(shard);
            boolean forward = carrying == session.forward();
            this.from = forward ? sourceWork : targetWork;
            this.to = forward ? targetWork : sourceWork;
        }

        /** Cuts over, or returns the reason for failing, after which the shard is open where it was. */
        Optional<String> run(int count) throws SQLException {
            try (FrozenCopies comparison = comparisons.prepare(session, shard, tables, following)) {
                warmUp();
                Optional<String> failure;
                try (MoveLimits.Turn turn = limits.awaitTurn(listener);
                        LockWatch.Endless untilEnd = session.locks().endless();
                        ExitDelay untilOpen = new ExitDelay()) {
                    failure = inTurn(count, comparison);
                }
                if (failure.isEmpty()) {
                    comparisons.compare(comparison);
                }
                return failure;
            }
        }

        private Optional<String> inTurn(int count, FrozenCopies comparison) throws SQLException {
            long attempt = session.lease().arm(shard.shard());
            listener.reached(MoveStep.ARMED);
            Optional<String> failure = rehearse(attempt);
            long start = System.nanoTime();
            if (failure.isEmpty()) {
                failure = cutOver(attempt, start, comparison);
            }
            if (failure.isPresent()) {
                session.lease().disarm(shard.shard(), shard.phase());
                return failure;
            }
            Duration pause = Duration.ofNanos(System.nanoTime() - start);
            listener.reached(MoveStep.OPENED);
            Sql.awaitDisk(carrying.subscriber().control());
            session.lease().paused(shard.shard(), pause);
            listener.cutOver(shard.shard(), carrying.subscriber().name(), pause, count);
            return Optional.empty();
        }

        /** Warms up this attempt's sessions, where the first execution of a statement is slow; need not finish in time. */
        private void warmUp() throws SQLException {
            for (Connection connection : List.of(from, to)) {
                tryOut(
                        connection,
                        "SELECT * FROM shardflake.fences(%1$s); SELECT * FROM shardflake.sequence_positions(%1$s); SELECT shardflake.refuse_relatives(%1$s)"
                                .formatted(shard.shard()));
            }
            // What the change stream costs, but for the change itself: each server knows this already.
            tryOut(from, OpenShard.recordSql(shard.shard(), shard.epoch(), true));
            tryOut(to, OpenShard.recordSql(shard.shard(), shard.epoch(), false));
            // The fence is up there already, so this changes only the number of the latest one: routers ask once more.
            tryOut(to, FENCE.formatted(shard.shard()));
        }

        private static void tryOut(Connection connection, String sql) throws SQLException {
            try (Sql.Ending ending = Sql.rollingBack(connection)) {
                Sql.execute(connection, sql);
            } catch (SQLException e) {
                if (!Sql.isInTheWay(e)) {
                    throw e;
                }
            }
        }

        private Optional<String> rehearse(long attempt) throws SQLException {
            try {
                session.lease()
                        .rehearseSwitch(shard, attempt, carrying.subscriber().name(), phaseAfter());
                return Optional.empty();
            } catch (SQLException e) {
                if (Sql.isInTheWay(e)) {
                    return Optional.of("the catalog is busy: " + Sql.message(e));
                }
                throw e;
            }
        }

        private Optional<String> cutOver(long attempt, long start, FrozenCopies comparison) throws SQLException {
            long latest = start + settings.pause().minus(RESERVE).toNanos();
            try {
                fence();
            } catch (SQLException e) {
                startIds(e);
                if (Sql.isInTheWay(e)) {
                    return Optional.of("transactions that have written to it did not end in time: "
                            + carrying.publisher().writers(shard.shard()));
                }
                throw e;
            }
            listener.reached(MoveStep.FENCED);
            String failure;
            try {
                failure = takeOver(latest, comparison);
            } catch (SQLException e) {
                giveUp(e);
                if (Sql.isInTheWay(e)) {
                    return Optional.of("%s could not open its tables in time"
                            .formatted(carrying.subscriber().name()));
                }
                throw e;
            } catch (RuntimeException e) {
                giveUp(e);
                throw e;
            }
            if (failure != null) {
                giveUp();
                return Optional.of(failure);
            }
            return switchOver(attempt);
        }

        /** Fences the shard, removes it from the publication, marks it, and stops its ids, in one message and one transaction. */
        private void fence() throws SQLException {
            String sql = carrying.publisher().checkClaim()
                    + FENCE.formatted(shard.shard())
                    + carrying.removeSql(tables)
                    + carrying.markSql()
                    + carrying.handOverSql()
                    + OpenShard.recordSql(shard.shard(), shard.epoch() + 1, false)
                    + "SELECT array_agg(sequence_name) AS sequence_names, array_agg(last_value) FROM shardflake.sequence_positions(%s)"
                            .formatted(shard.shard())
                    + (hasReferenceTables
                            ? "; SELECT version AS reference_version FROM shardflake.reference_version"
                            : "");
            try (Statement statement = from.createStatement()) {
                statement.setEscapeProcessing(false);
                boolean isRows = statement.execute(sql);
                while (isRows || statement.getUpdateCount() >= 0) {
                    if (isRows) {
                        read(statement.getResultSet());
                    }
                    isRows = statement.getMoreResults();
                }
            } catch (SQLException e) {
                throw Sql.named(from, e);
            }
            leasesEnd = System.nanoTime() + LEASES.toNanos();
        }

        private void read(ResultSet row) throws SQLException {
            row.next();
            switch (row.getMetaData().getColumnLabel(1)) {
                case "mark" -> mark = row.getLong(1);
                case "sequence_names" -> {
                    sequenceNames = row.getArray(1);
                    sequenceValues = row.getArray(2);
                }
                case "reference_version" -> referenceVersion = row.getLong(1);
                default -> {} // of functions that return nothing of use
            }
        }

        /** Does everything that can fail before the map is changed; returns the reason if it did not finish in time. */
        private @Nullable String takeOver(long latest, FrozenCopies comparison) throws SQLException {
            Future<?> seen = comparison.seeSoon(carrying.publisher());
            if (!carrying.reaches(mark, latest)) {
                return "%s did not get the last writes in time"
                        .formatted(carrying.subscriber().name());
            }
            if (!hasReferencedRows(latest)) {
                return "%s did not get the latest rows of reference tables in time"
                        .formatted(carrying.subscriber().name());
            }
            listener.reached(MoveStep.DRAINED);
            Future<?> seenToo = comparison.seeSoon(carrying.subscriber());
            stage();
            FrozenCopies.await(seen);
            FrozenCopies.await(seenToo);
            awaitLeases();
            listener.reached(MoveStep.STAGED);
            return System.nanoTime() - latest > 0 ? "it took too long" : null;
        }

        /** Whether the other server gets the reference rows that the shard's rows may refer to in time. */
        private boolean hasReferencedRows(long latest) throws SQLException {
            if (referenceVersion == 0) { // There have never been any.
                return true;
            }
            while (ReferenceVersion.of(to) < referenceVersion) {
                if (System.nanoTime() - latest > 0) {
                    return false;
                }
                Sleep.micros(500);
            }
            return true;
        }

        private void awaitLeases() {
            while (leasesEnd - System.nanoTime() > 0) {
                Sleep.micros((leasesEnd - System.nanoTime()) / 1000 + 1);
            }
        }

        private void stage() throws SQLException {
            to.setAutoCommit(false);
            Sql.execute(
                    to,
                    carrying.subscriber().checkClaim()
                            + OpenShard.prepareSql(shard.shard(), sequenceNames, sequenceValues)
                            + carrying.handOverSql(mark)
                            + OpenShard.recordSql(shard.shard(), shard.epoch() + 1, true)
                            + back.addSql(tables)
                            // Before anything that is written from now on: a stream that is held stops at it.
                            + back.markSql()
                            // Once the map has changed, the rest must be done, however long it takes. run() waits for
                            // the disk, without blocking writers.
                            + "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SET LOCAL synchronous_commit = off");
        }

        private ShardPhase phaseAfter() {
            return carrying == session.forward() ? ShardPhase.SWITCHED : ShardPhase.COPIED;
        }

        private Optional<String> switchOver(long attempt) throws SQLException {
            ShardPhase phase = phaseAfter();
            try {
                session.lease()
                        .switchShard(shard, attempt, carrying.subscriber().name(), phase, mark);
            } catch (SQLException e) {
                if (Sql.isOutage(e)) {
                    throw e; // The map may have changed: nothing is opened until that is known.
                }
                giveUp(e);
                if (Sql.isInTheWay(e)) {
                    return Optional.of("the catalog did not change the shard map in time");
                }
                throw e;
            }
            listener.reached(MoveStep.SWITCHED);
            Sql.execute(to, OpenShard.finishSql(shard.shard()) + "COMMIT");
            to.setAutoCommit(true);
            return Optional.empty();
        }

        /** Restarts ids after a fence was rolled back, since the rollback does not restart them. */
        private void startIds(SQLException failure) throws SQLException {
            try {
                Sql.execute(
                        carrying.publisher().control(),
                        carrying.publisher().checkClaim() + OpenShard.finishSql(shard.shard()));
            } catch (SQLException e) {
                e.addSuppressed(failure);
                throw e;
            }
        }

        /**
         * Gives up the attempt after a failure. If that fails too, the shard stays in cutover, and is settled when the move is next taken up.
         */
        private void giveUp(Exception failure) throws SQLException {
            try {
                giveUp();
            } catch (SQLException e) {
                e.addSuppressed(failure);
                throw e;
            }
        }

        /** Opens the shard where it was. The map is unchanged, and only this attempt could have changed it. */
        private void giveUp() throws SQLException {
            Optional<SQLException> lost = rollBackThere();
            // Over the connection without timeouts: the shard must be opened, whatever is in the way.
            Sql.execute(
                    carrying.publisher().control(),
                    carrying.publisher().checkClaim()
                            + carrying.addSql(tables)
                            + OpenShard.recordSql(shard.shard(), shard.epoch(), true)
                            + "SELECT shardflake.unfence_shard(%s)".formatted(shard.shard()));
            if (lost.isPresent()) {
                throw lost.get();
            }
        }

        /** Rolls back on a server that is gone, where the commit was never sent, so that the shard does not stay closed on both servers. */
        private Optional<SQLException> rollBackThere() {
            try {
                if (!to.getAutoCommit()) {
                    to.rollback();
                    to.setAutoCommit(true);
                }
                return Optional.empty();
            } catch (SQLException e) {
                return Optional.of(e);
            }
        }
    }

    @Override
    public void close() {
        Sql.close(targetWork);
        Sql.close(sourceWork);
    }
}
