/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;
import static org.shardflake.doctor.Severity.WARNING;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.doctor.ServerFacts.Remnant;
import org.shardflake.doctor.ServerFacts.Remnant.Kind;
import org.shardflake.doctor.ServerFacts.StreamTrouble;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.ServerRefusalException;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.Move;
import org.shardflake.move.MovePhase;
import org.shardflake.move.MoveShard;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.Mover;
import org.shardflake.move.ShardPhase;
import org.shardflake.move.Split;
import org.shardflake.move.SplitPhase;
import org.shardflake.move.StreamStatus;
import org.shardflake.move.exception.MoveException;
import org.shardflake.replication.Replication;

/** Finds interrupted moves that no command is working on, and remains of ended moves on servers. */
final class MoveFindings {

    private static final long LOOK_AGAIN_MILLIS = 2000;

    /** Whether a shard refuses writes; returns no row if the shard, or a table with a fence, is not here. */
    private static final String CLOSED =
            "SELECT shardflake.is_fenced(?) WHERE EXISTS (SELECT FROM shardflake.fences(?) WHERE present)";

    private final ObservedState observed;
    private final DoctorConnections access;
    private final Mover mover;
    private final boolean mapIsTrue;
    private final List<Finding> findings = new ArrayList<>();
    /** The tags of moves that cannot continue, so that their streams need not be examined. */
    private final Set<String> broken = new TreeSet<>();

    private MoveFindings(ObservedState observed, DoctorConnections access, Mover mover, boolean mapIsTrue) {
        this.mapIsTrue = mapIsTrue;
        this.observed = observed;
        this.access = access;
        this.mover = mover;
    }

    /**
     * @param mapIsTrue whether servers have and take the shards that the map gives them; if not, the remains of unknown moves may
     *     show where they went
     */
    static List<Finding> of(ObservedState observed, DoctorConnections access, Mover mover, boolean mapIsTrue)
            throws SQLException, InterruptedException {
        MoveFindings moves = new MoveFindings(observed, access, mover, mapIsTrue);
        for (Move move : moves.idle(observed.moves())) {
            moves.interrupted(move);
        }
        moves.splits();
        moves.missingParts();
        moves.remnants();
        moves.troubles();
        return moves.findings;
    }

    /** The moves that need a command to continue them but have none. Looks twice, since a command releases its move between steps. */
    private List<Move> idle(List<Move> moves) throws SQLException, InterruptedException {
        List<Move> idle = onlyIdle(moves);
        if (idle.isEmpty()) {
            return idle;
        }
        Thread.sleep(LOOK_AGAIN_MILLIS);
        List<Move> again = onlyIdle(mover.moves());
        again.removeIf(move -> idle.stream()
                .noneMatch(before ->
                        before.id() == move.id() && before.phaseSince().equals(move.phaseSince())));
        return again;
    }

    private List<Move> onlyIdle(List<Move> moves) throws SQLException {
        List<Move> idle = new ArrayList<>();
        for (Move move : moves) {
            boolean waits = move.phase() == MovePhase.FOLLOWING
                    && move.problem().isEmpty()
                    && unsettled(move).isEmpty();
            if (!waits && !mover.isTakenUp(move.id())) {
                idle.add(move);
            }
        }
        return idle;
    }

    /** The shards left in the middle of a cutover, or not accepting writes exactly where the map has them. */
    private ShardSet unsettled(Move move) throws SQLException {
        Set<Integer> unsettled = new TreeSet<>();
        move.shardSet(ShardPhase.CUTTING_OVER).stream().forEach(unsettled::add);
        for (String server : List.of(move.source(), move.target())) {
            ServerFacts facts = observed.facts().get(server);
            if (facts == null || !facts.libraryIsCurrent()) {
                continue; // It cannot be reached, which is a separate finding.
            }
            access.onServer(server, connection -> {
                for (MoveShard shard : move.shards()) {
                    List<Boolean> closed =
                            Sql.list(connection, CLOSED, row -> row.getBoolean(1), shard.shard(), shard.shard());
                    boolean isOwner = shard.server().equals(server);
                    if (closed.contains(isOwner)) {
                        unsettled.add(shard.shard());
                    }
                }
            });
        }
        return ShardSet.of(unsettled);
    }

    private void interrupted(Move move) throws SQLException {
        ShardSet unsettled = unsettled(move);
        Advice goOn = Advice.of("continue with %s", move.nextCommand());
        if (!unsettled.isEmpty()) {
            findings.add(Finding.of(
                            PROBLEM,
                            "catalog",
                            "move-interrupted",
                            "move %s was interrupted at the cutover of %s, which may be closed to writes"
                                    .formatted(move.id(), Plural.shards(unsettled)),
                            Advice.of(
                                    "open them where the catalog has them with %s, then %s",
                                    CliCommand.DOCTOR_FIX, goOn))
                    .with(() -> mover.settle(move.id())));
        } else {
            findings.add(Finding.of(
                    WARNING,
                    "catalog",
                    "move-interrupted",
                    "move %s of %s has been %s since %s, and its command no longer runs%s"
                            .formatted(
                                    move.id(),
                                    Plural.shards(move.shardSet()),
                                    move.phase(),
                                    move.phaseSince().truncatedTo(ChronoUnit.SECONDS),
                                    move.problem().isEmpty() ? "" : ": " + move.problem()),
                    goOn));
        }
    }

    /** Reports interrupted splits; a split whose move isn't recorded yet may be in progress, which takes seconds. */
    private void splits() {
        for (Split split : observed.splits()) {
            if (observed.moves().stream().noneMatch(move -> move.id() == split.move())) {
                findings.add(Finding.of(
                        WARNING,
                        split.source(),
                        "split-open",
                        "is being split by its standby, which is to become %s; the split is %s"
                                .formatted(split.target(), split.phase()),
                        split.phase() == SplitPhase.MOVING
                                ? Advice.of(
                                        "if its command no longer runs, run %s again",
                                        CliCommand.SERVER_SPLIT.with(split.source()))
                                : Advice.of(
                                        "if its command no longer runs, run %s again, or give it up with %s",
                                        CliCommand.SERVER_SPLIT.with(split.source()),
                                        CliCommand.SERVER_SPLIT_CANCEL.with(split.source()))));
            }
        }
    }

    /** Finds parts of a move that a server lost in a restore or failover. */
    private void missingParts() {
        for (Move move : observed.moves()) {
            if (observed.following().contains(move.tag())) {
                missingParts(move, move.source(), move.target(), "forward", "reverse");
                missingParts(move, move.target(), move.source(), "reverse", "forward");
            }
        }
    }

    private void missingParts(Move move, String server, String other, String out, String in) {
        ServerFacts facts = observed.facts().get(server);
        if (facts == null) {
            return; // It cannot be reached, which is a separate finding.
        }
        List<Remnant> missing = observed.missingParts(move, server, out, in);
        if (!missing.isEmpty()) {
            broken.add(move.tag());
            findings.add(Finding.of(
                    PROBLEM,
                    server,
                    "move-broken",
                    "lacks the %s of move %s, as after a restore or a failover"
                            .formatted(
                                    missing.stream()
                                            .map(part -> part.kind().toString())
                                            .collect(Collectors.joining(", ")),
                                    move.id()),
                    Advice.of(
                            ShardFindings.PERSON
                                    + "the copies of %s on %s may have rows that %s has lost, so they are compared before any are removed: %s",
                            Plural.shards(move.shardSet()),
                            other,
                            server,
                            move.wayOut())));
        }
    }

    private void remnants() {
        record Found(String server, Remnant remnant) {}
        List<Found> orphans = new ArrayList<>();
        observed.facts()
                .forEach((server, facts) -> facts.remnants().stream()
                        .filter(remnant -> !observed.hasMove(remnant.tag()))
                        .forEach(remnant -> orphans.add(new Found(server, remnant))));
        // Subscriptions on all servers come before the slots that they use on others.
        orphans.sort(Comparator.comparing(found -> found.remnant().kind()));
        orphans.forEach(found -> findings.add(orphan(found.server(), found.remnant())));
    }

    private Finding orphan(String server, Remnant remnant) {
        boolean keepsLog = remnant.kind() == Kind.SLOT;
        boolean isOver = observed.isOver(remnant.tag());
        Finding finding = Finding.of(
                keepsLog || !isOver ? PROBLEM : WARNING,
                server,
                "orphan-" + remnant.kind().name().toLowerCase(Locale.ROOT),
                "%s %s is of a move that %s%s"
                        .formatted(
                                remnant.kind(),
                                remnant.name(),
                                isOver
                                        ? "is over"
                                        : "the catalog never had, so the catalog may be older than the servers",
                                keepsLog ? ", and keeps write-ahead log" : ""),
                remedy(remnant, isOver));
        return mapIsTrue && isOver
                ? finding.with(
                        () -> access.unlessMoving(remnant.tag(), server, connection -> remove(connection, remnant)))
                : finding;
    }

    private Advice remedy(Remnant remnant, boolean isOver) {
        if (!mapIsTrue) {
            return Advice.of("first fix the shards that differ from the map; the move may show where they went");
        }
        return isOver
                ? Advice.of("remove it with %s", CliCommand.DOCTOR_FIX)
                : Advice.of(
                        "if no other catalog has the move, as after a restore: %s",
                        CliCommand.RECONCILE_FORGET.with(remnant.tag()));
    }

    private static void remove(Connection connection, Remnant remnant) throws SQLException {
        switch (remnant.kind()) {
            case SUBSCRIPTION -> Replication.dropSubscription(connection, remnant.name(), "");
            case SLOT -> Replication.dropIdleSlot(connection, remnant.name());
            case PUBLICATION -> Replication.dropPublication(connection, remnant.name(), "");
            case CLAIM -> Sql.call(connection, "DELETE FROM shardflake.move_claim WHERE move = ?", remnant.name());
            case MARKER -> Sql.call(connection, "DELETE FROM shardflake.move_marker WHERE stream = ?", remnant.name());
        }
    }

    private void troubles() throws InterruptedException {
        Map<String, Finding> found = new TreeMap<>();
        for (Map.Entry<String, ServerFacts> server : observed.facts().entrySet()) {
            for (StreamTrouble trouble : server.getValue().streamTroubles()) {
                if (observed.hasMove(trouble.tag()) && !broken.contains(trouble.tag())) {
                    found.put(trouble.stream() + " " + server.getKey(), finding(server.getKey(), trouble.found()));
                }
            }
        }
        found.putAll(problems());
        findings.addAll(found.values());
    }

    /** The reasons why servers cannot follow each other, by move. Looks twice, since moves continue and a restarted worker takes a moment. */
    private Map<String, Finding> problems() throws InterruptedException {
        Map<String, Finding> problems = problems(observed.moves());
        if (!problems.isEmpty()) {
            Thread.sleep(LOOK_AGAIN_MILLIS);
            problems.keySet().retainAll(problems(mover.moves()).keySet());
        }
        return problems;
    }

    private Map<String, Finding> problems(List<Move> moves) {
        Map<String, Finding> problems = new TreeMap<>();
        for (Move move : moves) {
            if (!broken.contains(move.tag())
                    && observed.facts().keySet().containsAll(List.of(move.source(), move.target()))) {
                try {
                    MoveStatus status = mover.status(move);
                    problem(move, "_forward", move.target(), status.forward(), problems);
                    problem(move, "_reverse", move.source(), status.reverse(), problems);
                } catch (ServerRefusalException | MoveException e) {
                    // The move or a server is gone, which is found elsewhere, or a lock was not given in time.
                }
            }
        }
        return problems;
    }

    private static void problem(
            Move move, String direction, String subscriber, StreamStatus status, Map<String, Finding> problems) {
        if (!status.problem().isEmpty()) {
            problems.put(
                    "shardflake_" + move.tag() + direction + " " + subscriber, finding(subscriber, status.problem()));
        }
    }

    private static Finding finding(String server, String found) {
        return Finding.of(PROBLEM, server, "move-stream", found, Advice.of("see %s", CliCommand.MOVE_STATUS));
    }
}
