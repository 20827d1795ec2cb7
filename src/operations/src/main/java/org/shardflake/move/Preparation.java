/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.deploy.SchemaLock;
import org.shardflake.deploy.ShardSchemaCopy;
import org.shardflake.grants.Grants;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.internal.copy.DeferredIndexes;
import org.shardflake.move.internal.copy.PartedCopy;
import org.shardflake.move.internal.session.ExportedSnapshot;
import org.shardflake.move.internal.session.MaterializedViews;
import org.shardflake.move.internal.session.MoveServerSession;
import org.shardflake.move.internal.session.ReferenceVersion;
import org.shardflake.move.internal.session.SameLibrary;
import org.shardflake.sql.FunctionLibrary;

/**
 * Brings a move to the point where both servers follow each other. Continues from the phase in the catalog; within a phase, every step can be
 * repeated.
 */
final class Preparation {

    private static final Duration CAUGHT_UP = Duration.ofMillis(500);

    private final MoveSession session;
    private final MoveSettings settings;
    private final MoveLimits limits;
    private final MoveListener listener;

    Preparation(MoveSession session, MoveSettings settings, MoveLimits limits, MoveListener listener) {
        this.session = session;
        this.settings = settings;
        this.limits = limits;
        this.listener = listener;
    }

    void run() throws SQLException {
        MovePhase phase = session.move().phase();
        if (phase == MovePhase.PREPARING) {
            prepare();
        }
        if (phase == MovePhase.PREPARING || phase == MovePhase.COPYING) {
            Optional<SplitPosition> promoted = session.lease().splitPosition();
            if (promoted.isPresent()) {
                session.lease().enter(MovePhase.COPYING);
                takeOver(promoted.get());
            } else {
                copy(phase);
            }
            session.lease().enter(MovePhase.CATCHING_UP);
        }
        if (session.move().phase() == MovePhase.CATCHING_UP) {
            catchUp();
            session.lease().enter(MovePhase.FOLLOWING);
        }
    }

    private void prepare() throws SQLException {
        ShardSet shards = session.move().shardSet();
        deployLibrary();
        claimTarget();
        createSchema(shards);

        Collection<String> tables = allTables(shards);
        session.forward().publish(tables);
        session.reverse().publish(tables, List.of()); // Each table is sent once its shard has been cut over.
        if (!session.reverse().hasSubscription()) {
            session.reverse().subscribe();
        }
        listener.reached(MoveStep.PUBLISHED);
    }

    /**
     * Creates the schemas of shards on the target. From here on the catalog has the move, so deployments refuse its shards; an earlier
     * deployment holds the lock.
     */
    private void createSchema(ShardSet shards) throws SQLException {
        Connection from = session.source().control();
        Connection to = session.target().control();
        // Always in the same order, so that moves in opposite directions do not wait for each other.
        boolean sourceFirst = session.source().name().compareTo(session.target().name()) < 0;
        try (MoveLimits.Schemas inTurn = limits.awaitSchemas(
                        session.source().name(), session.target().name(), listener);
                SchemaLock first = lock(sourceFirst ? session.source() : session.target());
                SchemaLock second = lock(sourceFirst ? session.target() : session.source())) {
            ShardSchemaCopy schema = new ShardSchemaCopy(from, to);
            schema.create(shards);
            listener.reached(MoveStep.SCHEMA_CREATED);
            refuse(differences(schema, shards));
        }
    }

    private SchemaLock lock(MoveServerSession side) throws SQLException {
        return SchemaLock.take(side.control(), side.name(), settings.patience(), listener::waits);
    }

    /**
     * Deploys the library, unless the target has the source's version, which the shards already use; Liquibase takes half a second to find that out.
     */
    private void deployLibrary() throws SQLException {
        Connection from = session.source().control();
        Connection to = session.target().control();
        if (!SameLibrary.isOn(from, to)) {
            deployLibrary(from, to);
        }
    }

    /** Deploys the function library, a new one with the same owner as on the source: a more privileged owner would give it more privileges. */
    private static void deployLibrary(Connection from, Connection to) throws SQLException {
        List<String> owner = Grants.Owners.of(to).library().isPresent()
                ? List.of()
                : Sql.list(
                        to,
                        "SELECT quote_ident(rolname) FROM pg_roles WHERE rolname = ? AND rolname <> current_user AND NOT rolsuper",
                        row -> row.getString(1),
                        Grants.Owners.of(from).library().orElse(""));
        for (String role : owner) {
            Sql.execute(to, "SET ROLE " + role);
        }
        try (Sql.Ending ending = () -> Sql.execute(to, "RESET ROLE")) {
            long epoch = Sql.number(from, "SELECT shardflake.epoch_ms()");
            Sql.naming(to, () -> FunctionLibrary.deploy(to, epoch));
        }
    }

    /** Claims the target again, since the library may have been missing when the move was taken over. */
    private void claimTarget() throws SQLException {
        Sql.call(
                session.target().control(),
                "SELECT shardflake.claim_move(?, ?)",
                session.taken().tag(),
                session.lease().claim());
    }

    /** The differences between both copies once indexes are built, which an interrupted copy in parts may have left out. */
    private Map<Integer, List<String>> differences(ShardSchemaCopy schema, ShardSet shards) throws SQLException {
        Map<Integer, List<String>> differences = schema.differences(shards);
        Connection from = session.source().control();
        Connection to = session.target().control();
        ShardSet lacking = DeferredIndexes.lacking(from, to, ShardSet.of(differences.keySet()));
        if (lacking.isEmpty()) {
            return differences;
        }
        try (Sql.Ending ending = Sql.rollingBack(to)) {
            for (int shard : lacking.stream().toArray()) {
                PartedCopy.pretendEnd(from, to, shard);
            }
            return schema.differences(shards);
        } catch (SQLException e) {
            if (Sql.isOutage(e) || Sql.isInTheWay(e)) {
                throw e;
            }
            return differences; // What they lack cannot be built, so there is more to it.
        }
    }

    static void checkSchema(ShardSchemaCopy schema, ShardSet shards) throws SQLException {
        refuse(schema.differences(shards));
    }

    private static void refuse(Map<Integer, List<String>> differences) {
        differences.forEach((shard, lines) -> {
            throw new MoveException(
                    "shard %s has another schema on the target: %s%s. Make both match your changelog, and run the same command again"
                            .formatted(
                                    shard,
                                    String.join("; ", lines.subList(0, Math.min(3, lines.size()))),
                                    differences.size() > 1
                                            ? " (and %s more shards)".formatted(differences.size() - 1)
                                            : ""));
        });
    }

    private List<String> allTables(ShardSet shards) throws SQLException {
        return session.source().tables(shards).values().stream()
                .flatMap(List::stream)
                .toList();
    }

    /**
     * Copies rows; starts over after an interruption, as the snapshot is gone with the process that made it. A shard that was copied already is
     * kept if it has the rows of the new snapshot, too.
     *
     * @param since the phase in which the move was taken up. In {@code PREPARING} there is no slot yet, or it was dropped here
     */
    private void copy(MovePhase since) throws SQLException {
        ShardSet shards = session.move().shardSet();
        Stream forward = session.forward();
        if (since == MovePhase.COPYING) {
            NewerCopyGuard.refuse(session, forward, listener);
            session.lease().enter(MovePhase.PREPARING); // A slot that is missing from now on was not lost.
        }
        forward.dropSubscription();
        forward.dropSlot();
        forward.equalMarks();
        ShardSet copied = session.move().shardSet(ShardPhase.COPIED);
        for (int shard :
                shards.stream().filter(shard -> !copied.contains(shard)).toArray()) {
            session.lease().copied(shard, ShardPhase.WAITING, 0, 0);
        }
        try (ExportedSnapshot snapshot =
                ExportedSnapshot.createSlot(session.source().server(), forward.name())) {
            session.lease().enter(MovePhase.COPYING);
            listener.reached(MoveStep.SLOT_CREATED);
            awaitReferencedRows();
            new MoveCopy(
                            session.source(),
                            session.target(),
                            session.lease(),
                            settings,
                            limits,
                            listener,
                            session::stepDone)
                    .copy(snapshot, shards, copied);
        }
        // Not earlier: it would have retained all the write-ahead log of the copy. Not later: a target that fails over
        // loses it, which reveals that its standby may lack what it has confirmed.
        session.reverse().createSlot();
        listener.reached(MoveStep.REVERSE_SLOT_CREATED);
        session.reverse().enable();
        forward.subscribe();
        forward.enable();
        listener.reached(MoveStep.SUBSCRIBED);
    }

    /** Takes over a target that was the source's standby, and has had the shards since its promotion. */
    private void takeOver(SplitPosition position) throws SQLException {
        Stream forward = session.forward();
        boolean subscribed = forward.hasSubscription();
        if (subscribed ? !forward.hasSlot() : !forward.keepsSince(position)) {
            throw new MoveRefusedException(
                    "%s has lost the replication slot %s, so %s does not get what was written since it was promoted"
                            .formatted(
                                    session.source().name(),
                                    forward.name(),
                                    session.target().name()),
                    Advice.of(
                            "if %s was neither restored nor failed over, the copies are just older: end this with %s; otherwise with %s, which compares. Then begin again with another standby",
                            session.source().name(),
                            CliCommand.MOVE_CANCEL_UNCOMPARED.with(
                                    session.taken().id()),
                            CliCommand.MOVE_CANCEL.with(session.taken().id())));
        }
        if (!subscribed && (forward.hasFailedOver() || !forward.hasReached(position))) {
            throw new MoveRefusedException(
                    "%s has failed over, or was restored, since %s was promoted, which may have rows that %s has lost"
                            .formatted(
                                    session.source().name(),
                                    session.target().name(),
                                    session.source().name()),
                    Advice.of(
                            "end this with %s, and begin again with another standby",
                            CliCommand.MOVE_CANCEL.with(session.taken().id())));
        }
        for (MoveShard shard : session.move().shards()) {
            session.lease().copied(shard.shard(), ShardPhase.COPIED, 0, 0);
        }
        session.reverse().createSlot();
        listener.reached(MoveStep.REVERSE_SLOT_CREATED);
        session.reverse().enable();
        if (!subscribed) {
            forward.subscribeFrom(position);
        }
        forward.enable();
        listener.reached(MoveStep.SUBSCRIBED);
    }

    /**
     * Waits for reference rows, since foreign keys may be checked when the rows are in, and so the target needs what the snapshot's rows refer to.
     */
    private void awaitReferencedRows() throws SQLException {
        Connection from = session.source().control();
        Connection to = session.target().control();
        if (!ReferenceVersion.isKept(from) || !ReferenceVersion.isKept(to)) {
            return;
        }
        long needed = ReferenceVersion.of(from);
        boolean arrived = Poll.everyMillis(20, settings.patience())
                .until(
                        () -> ReferenceVersion.of(to) >= needed,
                        () -> "%s waits for what was written to reference tables: it has version %s of %s"
                                .formatted(session.target().name(), ReferenceVersion.of(to), needed),
                        listener::waits);
        if (!arrived) {
            throw new MoveException(
                    ShardflakeException.Kind.FAILURE,
                    "%s does not get what is written to reference tables"
                            .formatted(session.target().name()),
                    Advice.of("%s says why", CliCommand.REFERENCE_STATUS));
        }
    }

    private void catchUp() throws SQLException {
        MaterializedViews.populate(
                session.source(), session.target(), session.move().shardSet());
        session.reverse().moveOn();
        session.forward().moveOn();
        // First, since a target that has failed over need not be awaited.
        awaitCaughtUp(session.reverse());
        awaitCaughtUp(session.forward());
        listener.reached(MoveStep.CAUGHT_UP);
        awaitCaughtUp(session.reverse());
        listener.reached(MoveStep.REHEARSED);
    }

    private void awaitCaughtUp(Stream stream) throws SQLException {
        do {
            stream.await(settings.patience(), listener);
        } while (stream.measureLag(Duration.ofSeconds(30)).compareTo(CAUGHT_UP) > 0);
    }
}
