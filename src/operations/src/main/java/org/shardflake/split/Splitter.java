/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.split;

import static org.apiguardian.api.API.Status.EXPERIMENTAL;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.apiguardian.api.API;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.deploy.SchemaLock;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.CleanUp;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.Split;
import org.shardflake.move.SplitCatalog;
import org.shardflake.move.SplitPhase;
import org.shardflake.move.SplitPosition;
import org.shardflake.move.SplitRequest;
import org.shardflake.move.Stream;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.internal.session.LockWatch;
import org.shardflake.move.internal.session.MoveServerSession;
import org.shardflake.move.internal.session.SameServer;
import org.shardflake.move.server.MoveServer;
import org.shardflake.preflight.PreflightCheck;
import org.shardflake.replication.Replication;
import org.shardflake.server.ServerUrl;

/**
 * Splits a server by its physical standby: promotes the standby, and hands some shards over to a move that finds them copied already.
 *
 * <p>The catalog records where a split stands, and any of these methods can be called again after an interruption. Until the standby is
 * promoted, a split leaves nothing when it is cancelled; afterwards the standby goes on to be a server, or is thrown away. The source takes
 * the writes of all its shards all the time, until the move cuts them over. Not thread-safe.
 */
@API(status = EXPERIMENTAL)
public final class Splitter {

    private static final String APPLICATION = "shardflake split";
    private static final Duration SENDER_PATIENCE = Duration.ofSeconds(20);

    private final ServerUrl catalogUrl;
    /** The name of sessions in which no split is taken up. */
    private final String mark;

    private final SplitCatalog catalog;
    private final Function<String, MoveServer> servers;
    private final MoveSettings settings;
    private final SplitListener listener;

    /**
     * @param servers the URL of a server of the shard map, including what is needed to log in
     */
    public Splitter(
            ServerUrl catalog, Function<String, MoveServer> servers, MoveSettings settings, SplitListener listener) {
        this.catalogUrl = catalog;
        this.mark = LockWatch.mark(APPLICATION);
        this.catalog = new SplitCatalog(catalog, mark);
        this.servers = servers;
        this.settings = settings;
        this.listener = listener;
    }

    /** All unfinished splits in a catalog, oldest first. */
    public static List<Split> splits(ServerUrl catalog) {
        return Sql.translating(new SplitCatalog(catalog, APPLICATION)::list);
    }

    /** The unfinished split of a server into itself and another one, if any. */
    public Optional<Split> begun(String source, String target) {
        return splits(catalogUrl).stream()
                .filter(split -> split.source().equals(source) && split.target().equals(target))
                .findFirst();
    }

    /**
     * Checks whether a server can be split. Changes nothing.
     *
     * @throws MoveRefusedException if a move or another split concerns the server
     */
    public List<PreflightCheck> check(SplitRequest request) {
        MoveServer source = servers.apply(request.source());
        return watched(List.of(LockWatch.Place.of(source, mark), LockWatch.Place.of(standby(request), mark)), locks -> {
            requireHere(request);
            catalog.refuseOthers(request.source(), request.target().name());
            return SplitChecks.run(request, source, catalogUrl, known(), mark);
        });
    }

    private static MoveServer standby(SplitRequest request) {
        return new MoveServer(request.target().name(), request.standby());
    }

    @FunctionalInterface
    private interface Work<T> {
        T run(LockWatch locks) throws SQLException;
    }

    /** Runs work while waits for locks, in the catalog and at these places, are watched and limited. */
    private <T> T watched(List<LockWatch.Place> places, Work<T> work) {
        List<LockWatch.Place> all = new ArrayList<>(places);
        all.add(new LockWatch.Place("the catalog", catalogUrl, mark, false));
        return Sql.translating(() -> {
            try (LockWatch locks = LockWatch.begin(() -> all, settings.patience(), listener::waits)) {
                return locks.during(() -> work.run(locks));
            }
        });
    }

    /** Takes over a split, and works on it. */
    private <T> T takenUp(long id, Function<Split, Optional<MoveServer>> standby, TakenUp<T> work) {
        Split split = watched(List.of(), locks -> catalog.find(id));
        List<LockWatch.Place> places = new ArrayList<>();
        places.add(LockWatch.Place.of(servers.apply(split.source()), split.tag()));
        standby.apply(split).ifPresent(server -> places.add(LockWatch.Place.of(server, split.tag())));
        return watched(places, locks -> {
            try (SplitCatalog.Lease lease = catalog.takeUp(id, listener::waits)) {
                return work.run(lease, locks);
            }
        });
    }

    private static Function<Split, Optional<MoveServer>> at(ServerUrl standby) {
        return split -> Optional.of(new MoveServer(split.target(), standby));
    }

    /** The target, unless it was removed from the map. */
    private Optional<MoveServer> inMap(Split split) {
        return named(ShardCatalog.at(catalogUrl).load(), split.target()).map(server -> servers.apply(server.name()));
    }

    private MoveServerSession claim(SplitCatalog.Lease lease, String server) throws SQLException {
        return MoveServerSession.claim(servers.apply(server), lease.split().tag(), lease.claim(), listener::waits);
    }

    @FunctionalInterface
    private interface TakenUp<T> {
        T run(SplitCatalog.Lease lease, LockWatch locks) throws SQLException;
    }

    private void requireHere(SplitRequest request) {
        ShardMap map = ShardCatalog.at(catalogUrl).load();
        if (named(map, request.target().name()).isPresent()) {
            throw new MoveRefusedException(
                    "there is a server %s already".formatted(request.target().name()),
                    "call the standby something else");
        }
        ShardSet elsewhere = ShardSet.of(request.shards().stream()
                .filter(shard -> !map.server(shard).name().equals(request.source()))
                .toArray());
        if (request.shards().isEmpty() || !elsewhere.isEmpty()) {
            throw new MoveRefusedException(
                    request.shards().isEmpty()
                            ? "no shards are named"
                            : "%s not on %s".formatted(Plural.shards(elsewhere, "is", "are"), request.source()),
                    "name shards of %s: %s".formatted(request.source(), map.shards(map.server(request.source()))));
        }
    }

    /** The URLs by which clients may reach the catalog or a server of the map. */
    private List<SplitChecks.KnownUrl> known() {
        List<SplitChecks.KnownUrl> known = new ArrayList<>();
        known.add(new SplitChecks.KnownUrl("the catalog's URL", catalogUrl, true));
        for (Server server : ShardCatalog.at(catalogUrl).load().servers()) {
            ServerUrl login = servers.apply(server.name()).url();
            known.add(new SplitChecks.KnownUrl("the URL of " + server.name(), login.another(server.url()), true));
            server.applicationUrl()
                    .ifPresent(url -> known.add(new SplitChecks.KnownUrl(
                            "the application URL of " + server.name(), login.another(url), false)));
        }
        return known;
    }

    /**
     * Begins or resumes a split, until the standby is a server that refuses writes to all shards and the move of the shards is recorded. {@link
     * Mover#carryOut} does the rest, and {@link #finish} tidies up.
     *
     * @return the number of the move; it may have ended already
     * @throws MoveRefusedException if a check fails, or the standby cannot be used any more
     */
    public long promote(SplitRequest request) {
        Optional<Split> begun = begun(request.source(), request.target().name());
        begun.ifPresent(split -> requireSame(split, request));
        long id = begun.isPresent() ? begun.get().move() : begin(request).move();
        return takenUp(id, at(request.standby()), (lease, locks) -> {
            if (lease.split().phase() != SplitPhase.MOVING) {
                promote(lease, request.standby(), locks);
            }
            return id;
        });
    }

    private static void requireSame(Split split, SplitRequest request) {
        if (!split.shards().equals(request.shards())
                || !split.targetUrl().equals(request.target().url())) {
            throw new MoveRefusedException(
                    "%s is being split already: %s to %s"
                            .formatted(split.source(), Plural.shards(split.shards(), "goes", "go"), split.targetUrl()),
                    Advice.of(
                            "run the command with these again, or give it up with %s",
                            CliCommand.SERVER_SPLIT_CANCEL.with(split.source())));
        }
    }

    private Split begin(SplitRequest request) {
        for (PreflightCheck check : check(request)) {
            switch (check.outcome()) {
                case FAILED ->
                    throw new MoveRefusedException(
                            "check %s failed: %s (a dry run shows all)".formatted(check.name(), check.found()),
                            check.remedy());
                case WARNING -> listener.warned(check);
                case OK -> {}
            }
        }
        Split split = watched(List.of(), locks -> catalog.create(request));
        listener.reached(SplitStep.RECORDED);
        return split;
    }

    private void promote(SplitCatalog.Lease lease, ServerUrl url, LockWatch locks) throws SQLException {
        Split split = lease.split();
        MoveServer target = new MoveServer(split.target(), url);
        try (MoveServerSession source = claim(lease, split.source());
                Standby standby = Standby.connect(target, split.tag(), lease.claim(), listener::waits);
                SchemaLock schema =
                        SchemaLock.take(source.control(), source.name(), settings.patience(), listener::waits)) {
            requireApart(standby, source, lease);
            if (split.phase() == SplitPhase.PREPARING) {
                prepare(lease, source, standby);
            }
            SplitPosition position = lease.split().position().orElseThrow();
            if (standby.isInRecovery()) {
                position = standby.stillAt(position, settings.patience());
                lease.promoting(position);
                standby.requireAlone();
                standby.promote(settings.patience());
                listener.reached(SplitStep.PROMOTED);
            }
            // From the promotion to here nothing asks the catalog or the source, which may be gone.
            try (LockWatch.Endless closing = locks.endless()) { // It has its own limits.
                standby.closeShards(position, lease.claim());
            }
            listener.reached(SplitStep.CLOSED);
            standby.release();
            dropStandbySlot(source.control(), lease.split());
        }
        addServer(split);
        lease.recordMove();
        listener.reached(SplitStep.MOVE_RECORDED);
    }

    /** Adds the server to the map, unless an interrupted run has done so. */
    private void addServer(Split split) {
        ShardCatalog map = ShardCatalog.at(catalogUrl);
        Optional<Server> existing = named(map.load(), split.target());
        if (existing.isEmpty()) {
            map.addServer(new Server(split.target(), split.targetUrl()), "split of " + split.source());
        } else if (!existing.get().url().equals(split.targetUrl())) {
            throw new MoveRefusedException(
                    "another server has been named %s in the meantime".formatted(split.target()),
                    Advice.of("%s, and run the same command again", CliCommand.SERVER_REMOVE.with(split.target())));
        }
    }

    /**
     * Refuses to remove a server from the shard map while a split needs it.
     *
     * @throws MoveRefusedException if there is such a split
     */
    public static void requireNotNeeded(ServerUrl catalog, Server server) {
        for (Split split : splits(catalog)) {
            // When its move has ended, the target may go: it may be lost.
            boolean isTarget = split.target().equals(server.name())
                    && (split.phase() == SplitPhase.MOVING
                            ? Mover.moves(catalog).stream().anyMatch(move -> move.id() == split.move())
                            : split.targetUrl().equals(server.url()));
            if (isTarget || split.source().equals(server.name())) {
                throw new MoveRefusedException(
                        "%s is being split, into %s".formatted(split.source(), split.target()),
                        Advice.of("finish that first: %s", CliCommand.SERVER_SPLIT.with(split.source())));
            }
        }
    }

    private static Optional<Server> named(ShardMap map, String name) {
        return map.servers().stream()
                .filter(server -> server.name().equals(name))
                .findFirst();
    }

    /** Requires that the shards to be removed from the standby are copies. */
    private static void requireApart(Standby standby, MoveServerSession source, SplitCatalog.Lease lease)
            throws SQLException {
        try (SameServer there = SameServer.as(standby.side().control())) {
            if (there.has(source.control()) || there.has(lease.connection())) {
                throw new MoveRefusedException(
                        "the standby's URL leads to %s itself, or to the catalog".formatted(source.name()),
                        "give the URL of the standby; or see that those of %s and the catalog do not lead to the standby"
                                .formatted(source.name()));
            }
        }
    }

    /** Stops the standby at a position after everything that the source's slot does not send. */
    private void prepare(SplitCatalog.Lease lease, MoveServerSession source, Standby standby) throws SQLException {
        if (!standby.isInRecovery()) {
            throw new MoveRefusedException(
                    "%s is no longer a standby, and it was not this split that promoted it"
                            .formatted(standby.side().name()),
                    Advice.of(
                            "give the split up with %s, and begin again with another standby",
                            CliCommand.SERVER_SPLIT_CANCEL.with(source.name())));
        }
        if (standby.isCutOff()) { // by an interrupted run
            standby.reconnect(lease.split().standbySlot().orElse(""));
        }
        lease.standbySlot(standby.slot());
        Stream forward = Stream.forward(lease.split().tag(), source, standby.side());
        publish(forward, source, lease.split().shards());
        listener.reached(SplitStep.SLOT_CREATED);
        Poll.Reason reason =
                () -> "%s waits for what %s writes; check that it is its standby, streams, and does not lag"
                        .formatted(standby.side().name(), source.name());
        if (!Poll.everyMillis(20, settings.patience()).until(new Arrival(forward), reason, listener::waits)) {
            throw new MoveException(
                    "%s does not get what %s writes, or not soon enough; check that it is its standby, streams, and does not lag"
                            .formatted(standby.side().name(), source.name()));
        }
        listener.reached(SplitStep.REPLAYED);
        try {
            standStill(lease, source, standby);
        } catch (SQLException | RuntimeException e) {
            followAgain(lease, standby, e);
            throw e;
        }
    }

    /** Creates the publication before the slot, since a slot cannot use a younger one. */
    private void publish(Stream forward, MoveServerSession source, ShardSet shards) throws SQLException {
        forward.publish(
                source.tables(shards).values().stream().flatMap(List::stream).toList());
        if (Sql.isTrue(
                        source.control(),
                        "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = ? AND wal_status = 'lost')",
                        forward.name())
                || forward.hasFailedOver()) {
            forward.dropSlot();
        }
        if (!forward.hasSlot()) {
            Replication.createSlot(source.control(), forward.name());
        }
    }

    /** A mark made after the slot was created; once the standby has it, the standby has everything from before the slot. */
    private static final class Arrival implements Poll.Condition {
        private final Stream stream;
        private final long mark;

        Arrival(Stream stream) throws SQLException {
            this.stream = stream;
            this.mark = stream.mark();
        }

        @Override
        public boolean holds() throws SQLException {
            return stream.seen() >= mark;
        }
    }

    private void standStill(SplitCatalog.Lease lease, MoveServerSession source, Standby standby) throws SQLException {
        String slot = lease.split().standbySlot().orElse("");
        requireNothingPrepared(source);
        List<Integer> senders = Standby.senders(source.control(), slot);
        SplitPosition position = standby.standStill(slot, settings.patience());
        listener.reached(SplitStep.CUT_OFF);
        requireItStreamedFrom(source, standby, slot, senders);
        standby.requireAlone();
        // As of the position, whatever is done on the source meanwhile.
        List<String> subscriptions = standby.enabledSubscriptions();
        if (!subscriptions.isEmpty()) {
            throw new MoveRefusedException(
                    "subscriptions %s were enabled in the meantime, and the standby would have copies of them"
                            .formatted(subscriptions),
                    "ALTER SUBSCRIPTION ... DISABLE, and run the same command again");
        }
        lease.promoting(position);
        listener.reached(SplitStep.POSITIONED);
    }

    private static void requireNothingPrepared(MoveServerSession source) throws SQLException {
        if (Standby.preparedTransactions(source.control()) > 0) {
            throw new MoveRefusedException(
                    "%s has prepared transactions".formatted(source.name()),
                    "end them (see pg_prepared_xacts), and run the same command again");
        }
    }

    /** Requires that the source, and not another standby, sent the log to the standby: sending must end at the cut. */
    private void requireItStreamedFrom(MoveServerSession source, Standby standby, String slot, List<Integer> before)
            throws SQLException {
        boolean ended = !before.isEmpty()
                && Poll.everyMillis(50, SENDER_PATIENCE)
                        .until(
                                () -> !Standby.senders(source.control(), slot).containsAll(before),
                                () -> "%s waits for what sent its log to %s to end"
                                        .formatted(source.name(), standby.side().name()),
                                listener::waits);
        if (!ended) {
            throw new MoveRefusedException(
                    "%s did not stream from %s: nothing that sends its log there ended when the standby was cut off"
                            .formatted(standby.side().name(), source.name()),
                    "let the standby stream from %s itself, and run the same command again".formatted(source.name()));
        }
    }

    private static void followAgain(SplitCatalog.Lease lease, Standby standby, Exception failure) {
        try {
            if (lease.split().phase() == SplitPhase.PREPARING) {
                standby.reconnect(lease.split().standbySlot().orElse(""));
            }
        } catch (SQLException | RuntimeException e) {
            failure.addSuppressed(e); // The same command, or --cancel, does it.
        }
    }

    /**
     * Removes the remains after the split's move has ended: the copies of shards that stayed, and the standby's slot.
     *
     * @return how many copies were removed
     * @throws MoveRefusedException if the move has not ended
     */
    public int finish(long id) {
        return takenUp(id, this::inMap, (lease, locks) -> finish(lease));
    }

    private int finish(SplitCatalog.Lease lease) throws SQLException {
        Split split = lease.split();
        if (split.phase() != SplitPhase.MOVING || lease.hasMove()) {
            throw new MoveRefusedException(
                    "the split of %s is not finished".formatted(split.source()),
                    "run the same command again, or end move %s first".formatted(split.move()));
        }
        ShardMap map = ShardCatalog.at(catalogUrl).load();
        // Whoever took the target out of the map has the copies there.
        int dropped = named(map, split.target()).isPresent() ? dropCopies(lease, map) : 0;
        Sql.with(servers.apply(split.source()).connect("shardflake move " + split.tag()), control -> {
            dropStandbySlot(control, lease.split());
            return true;
        });
        lease.end();
        return dropped;
    }

    private int dropCopies(SplitCatalog.Lease lease, ShardMap map) throws SQLException {
        Split split = lease.split();
        try (MoveServerSession target = claim(lease, split.target())) {
            ShardSet copies =
                    new StandbyCopies(target, map, Mover.moves(catalogUrl), settings.patience(), listener).drop();
            Standby.forget(target.control(), split.tag());
            target.giveUpClaim();
            return copies.size();
        }
    }

    /** Drops the standby's slot, for which the source would keep log for nothing. */
    private static void dropStandbySlot(Connection source, Split split) throws SQLException {
        String slot = split.standbySlot().orElse("");
        if (Sql.isTrue(
                source,
                "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = ? AND slot_type = 'physical' AND NOT active)",
                slot)) {
            Sql.call(source, "SELECT pg_drop_replication_slot(?)", slot);
        }
    }

    /** The state of the standby after a split was cancelled. */
    public enum Cancelled {
        /** The standby follows its primary as before. */
        STANDBY_AS_BEFORE,
        /** The standby may have become a primary: it was told to, or does not answer. It must be stopped for good. */
        STANDBY_TO_BE_THROWN_AWAY
    }

    /**
     * Gives up a split before its move is recorded.
     *
     * @throws MoveRefusedException if the move is recorded
     */
    public Cancelled cancel(long id, ServerUrl standbyUrl) {
        return takenUp(id, at(standbyUrl), (lease, locks) -> cancel(lease, standbyUrl));
    }

    private Cancelled cancel(SplitCatalog.Lease lease, ServerUrl standbyUrl) throws SQLException {
        Split split = lease.split();
        if (split.phase() == SplitPhase.MOVING) {
            requireNothingToGoOn(lease);
            finish(lease);
            return Cancelled.STANDBY_TO_BE_THROWN_AWAY;
        }
        boolean asBefore = split.phase() == SplitPhase.PREPARING && followsAgain(lease, standbyUrl);
        try (MoveServerSession source = claim(lease, split.source())) {
            CleanUp.ofSource(source, split.tag());
            if (!asBefore) {
                dropStandbySlot(source.control(), split);
            }
        }
        removeServer(split);
        lease.end();
        return asBefore ? Cancelled.STANDBY_AS_BEFORE : Cancelled.STANDBY_TO_BE_THROWN_AWAY;
    }

    /** Requires that the split cannot continue: its move has ended, or its server is gone. */
    private void requireNothingToGoOn(SplitCatalog.Lease lease) throws SQLException {
        Split split = lease.split();
        boolean hasMove = lease.hasMove();
        if (hasMove || named(ShardCatalog.at(catalogUrl).load(), split.target()).isPresent()) {
            throw new MoveRefusedException(
                    "the standby of %s is server %s already".formatted(split.source(), split.target()),
                    hasMove
                            ? Advice.of(
                                    "%s gives the shards back, %s leaves them; then run %s, which tidies up",
                                    CliCommand.MOVE_CANCEL.with(split.move()),
                                    CliCommand.MOVE_CANCEL_KEEPING.with(split.move()),
                                    CliCommand.SERVER_SPLIT.with(split.source()))
                            : Advice.of("run %s, which tidies up", CliCommand.SERVER_SPLIT.with(split.source())));
        }
    }

    /** Removes the server from the map if the split added it and did not get to recording the move. */
    private void removeServer(Split split) {
        ShardCatalog map = ShardCatalog.at(catalogUrl);
        if (named(map.load(), split.target())
                .filter(server -> server.url().equals(split.targetUrl()))
                .isPresent()) {
            map.removeServer(split.target(), "split of " + split.source() + " given up");
        }
    }

    private boolean followsAgain(SplitCatalog.Lease lease, ServerUrl url) throws SQLException {
        Split split = lease.split();
        try (Standby standby =
                Standby.connect(new MoveServer(split.target(), url), split.tag(), lease.claim(), listener::waits)) {
            if (!standby.isInRecovery()) {
                return false;
            }
            if (split.standbySlot().isPresent()) { // It may have settings that it has not read yet.
                standby.reconnect(split.standbySlot().get());
            }
            return true;
        } catch (SQLException e) {
            if (Sql.isOutage(e)) {
                return false; // Nobody can say what becomes of it.
            }
            throw e;
        }
    }
}
