/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.shardflake.Server;
import org.shardflake.ShardSet;
import org.shardflake.doctor.Severity;
import org.shardflake.move.Move;
import org.shardflake.move.MovePhase;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.StreamStatus;
import org.shardflake.sql.FunctionLibrary;
import org.shardflake.watch.PlaceState;
import org.shardflake.watch.ServerSight;
import org.shardflake.watch.Sight;

/**
 * What is wrong at a look, as the alerts of {@code src/monitoring/alerts.yaml} tell it, under the same names and with the same
 * thresholds. Something that may only be passing is told when it has lasted. Not thread-safe.
 */
final class Unsafe {

    private static final Duration PASSING = Duration.ofSeconds(10);

    /** Nobody looked for a time, if one look comes so long after another. */
    private static final Duration PAUSE = Duration.ofSeconds(15);

    private static final String MOVES_SLOT = "shardflake_m[0-9]+_.*";
    private static final long GIB = 1L << 30;
    private static final long SLOT_BYTES = 10 * GIB;
    private static final long STANDBY_MILLIS = 30_000;
    private static final double CLOCK_MILLIS = 1000;
    private static final long AHEAD_MILLIS = 10_000;
    private static final double CONNECTIONS = 0.9;
    private static final Duration RESTORE_POINT_AGE = Duration.ofDays(2);
    private static final Duration LEFT = Duration.ofDays(1);

    private final Questions questions;
    private final Map<String, Instant> since = new HashMap<>();
    private final Set<String> found = new HashSet<>();
    private Set<String> problems = Set.of();
    private final List<Map<String, Object>> all = new ArrayList<>();
    private Instant last = Instant.MAX;
    private boolean hasChanged;

    Unsafe(Questions questions) {
        this.questions = questions;
    }

    /** The problems first. */
    List<Map<String, Object>> of(Sight sight) {
        if (sight.at().minus(PAUSE).isAfter(last)) {
            since.clear();
        }
        last = sight.at();
        Set<String> before = Set.copyOf(since.keySet());
        found.clear();
        all.clear();
        catalog(sight);
        sight.map().servers().forEach(server -> server(sight, server));
        if (sight.catalogAnswers()) {
            sight.moves().forEach(move -> move(sight, move));
        }
        since.keySet().retainAll(found);
        Set<String> problemsBefore = problems;
        problems = all.stream()
                .filter(each -> !isWarning(each))
                .map(each -> "%s %s".formatted(each.get("server"), each.get("found")))
                .collect(Collectors.toSet());
        hasChanged = !since.keySet().equals(before) || !problems.equals(problemsBefore);
        return all.stream()
                .sorted((one, other) -> Boolean.compare(isWarning(one), isWarning(other)))
                .toList();
    }

    /** Whether the last look found something new, or not what the one before it did, such as a problem of more shards. */
    boolean hasChanged() {
        return hasChanged;
    }

    private static boolean isWarning(Map<String, Object> each) {
        return Severity.WARNING.toString().equals(each.get("severity"));
    }

    private void catalog(Sight sight) {
        if (!sight.catalogAnswers()) {
            problem(
                    sight,
                    "catalog",
                    "catalog-down",
                    "",
                    "the catalog does not answer: applications go on with the shard map that they have; no move and no change of the map is possible",
                    "doctor");
        } else if (sight.catalogIsStandby()) {
            warning(
                    sight,
                    "catalog",
                    "catalog-down",
                    "only a standby of the catalog answers: what it says may be old, and no change of the map is possible",
                    "doctor");
        }
        sight.restorePoint()
                .map(at -> Duration.between(at, sight.at()))
                .filter(age -> age.compareTo(RESTORE_POINT_AGE) > 0)
                .ifPresent(age -> warning(
                        sight,
                        "catalog",
                        "restore-point-old",
                        "the newest restore point is %s days old".formatted(age.toDays()),
                        "restore-point NAME"));
    }

    private void server(Sight sight, Server server) {
        String name = server.name();
        ServerSight seen = sight.servers().get(name);
        if (seen == null) {
            problem(
                    sight,
                    name,
                    "server-down",
                    "",
                    "does not answer as a primary: its %s shards cannot be written"
                            .formatted(sight.map().shards(server).size()),
                    "doctor");
            return;
        }
        shards(sight, server, PlaceState.CLOSED, "shards-closed", "shards %s refuse writes, and no move has them");
        shards(sight, server, PlaceState.MISSING, "shards-misplaced", "shards %s are missing");
        ShardSet misplaced = sight.misplaced(server);
        if (!misplaced.isEmpty()) {
            problem(
                    sight,
                    name,
                    "shards-misplaced",
                    "takes",
                    "takes writes to shards %s, which the shard map gives to others".formatted(misplaced),
                    "doctor");
        }
        slots(sight, name, seen);
        figures(sight, name, seen);
    }

    private void shards(Sight sight, Server server, PlaceState state, String check, String text) {
        List<Integer> shards = sight.map().shards(server).stream()
                .filter(shard -> sight.state(shard) == state)
                .boxed()
                .toList();
        if (!shards.isEmpty()) {
            problem(sight, server.name(), check, state.toString(), text.formatted(ShardSet.of(shards)), "doctor");
        }
    }

    private void slots(Sight sight, String server, ServerSight seen) {
        Set<String> copying = sight.moves().stream()
                .filter(move -> move.phase() == MovePhase.PREPARING || move.phase() == MovePhase.COPYING)
                .map(move -> "shardflake_%s_".formatted(move.tag()))
                .collect(Collectors.toSet());
        for (ServerSight.Slot slot : seen.slots()) {
            if (slot.isLost()) {
                problem(
                        sight,
                        server,
                        "slot-lost",
                        slot.name(),
                        "slot %s has lost log that it needs: a move of it is to be cancelled, a standby made anew"
                                .formatted(slot.name()),
                        "move status");
            } else if (slot.retainedBytes() > SLOT_BYTES && copying.stream().noneMatch(slot.name()::startsWith)) {
                problem(
                        sight,
                        server,
                        "slot-keeps-log",
                        slot.name(),
                        "slot %s keeps %s GiB of log, which fills the disk"
                                .formatted(slot.name(), slot.retainedBytes() / GIB),
                        "move status");
            } else if (!slot.isActive() && !slot.name().matches(MOVES_SLOT)) {
                add(
                        sight,
                        Severity.WARNING,
                        server,
                        "slot-inactive",
                        slot.name(),
                        "nobody receives from slot %s: the server keeps log for it".formatted(slot.name()),
                        PASSING);
            }
        }
        for (ServerSight.Standby standby : seen.standbys()) {
            if (standby.lagMillis() > STANDBY_MILLIS) {
                add(
                        sight,
                        Severity.WARNING,
                        server,
                        "standby-behind",
                        standby.name(),
                        "standby %s is %s s behind".formatted(standby.name(), standby.lagMillis() / 1000),
                        Duration.ZERO);
            }
        }
    }

    private void figures(Sight sight, String server, ServerSight seen) {
        if (Math.abs(seen.clockMillis()) > CLOCK_MILLIS) {
            warning(
                    sight,
                    server,
                    "clock-wrong",
                    String.format(
                            Locale.ROOT,
                            "its clock is %.1f s %s that of this machine; ids stay unique, but tell another time",
                            Math.abs(seen.clockMillis()) / 1000,
                            seen.clockMillis() > 0 ? "ahead of" : "behind"));
        }
        if (seen.aheadMillis() > AHEAD_MILLIS) {
            warning(
                    sight,
                    server,
                    "sequences-ahead",
                    "%s sequences of ids are ahead of its clock, one by %s s"
                            .formatted(seen.sequencesAhead(), seen.aheadMillis() / 1000),
                    "doctor");
        }
        if (seen.connections() > CONNECTIONS * seen.maxConnections()) {
            warning(
                    sight,
                    server,
                    "connections-scarce",
                    "%s of %s connections are in use".formatted(seen.connections(), seen.maxConnections()));
        }
        if (seen.libraryVersion() < FunctionLibrary.version()) {
            warning(
                    sight,
                    server,
                    "library-old",
                    "has version %s of the function library, and this command brings %s"
                            .formatted(seen.libraryVersion(), FunctionLibrary.version()),
                    "upgrade --dry-run");
        }
    }

    private void move(Sight sight, Move move) {
        String status = "move status %s".formatted(move.id());
        if (!move.problem().isEmpty() && !sight.isComparing(move)) {
            lasting(
                    sight,
                    Severity.WARNING,
                    "move-failed",
                    "move %s: its last step failed: %s".formatted(move.id(), move.problem()),
                    status);
        }
        if (move.phase() == MovePhase.FOLLOWING
                && Duration.between(move.phaseSince(), sight.at()).compareTo(LEFT) > 0) {
            lasting(
                    sight,
                    Severity.WARNING,
                    "move-left",
                    "move %s has been following since %s: both servers keep a copy, and log for it"
                            .formatted(move.id(), move.phaseSince()),
                    status);
        }
        sight.status(move).ifPresent(seen -> streams(sight, move, seen, status));
    }

    private void streams(Sight sight, Move move, MoveStatus seen, String status) {
        boolean follows = move.phase() == MovePhase.FOLLOWING;
        if (follows || move.phase() == MovePhase.CATCHING_UP) {
            stream(sight, move, "forward", seen.forward(), status);
        }
        if (follows && !sight.isComparing(move)) {
            stream(sight, move, "reverse", seen.reverse(), status);
        }
    }

    private void stream(Sight sight, Move move, String direction, StreamStatus stream, String status) {
        if (!stream.running()) {
            lasting(
                    sight,
                    Severity.PROBLEM,
                    "move-stopped",
                    "move %s does not follow (%s): the publisher keeps its log until it does"
                            .formatted(move.id(), direction),
                    status);
        } else if (stream.lagBytes() > GIB) {
            lasting(
                    sight,
                    Severity.WARNING,
                    "move-behind",
                    "move %s is more than 1 GiB behind (%s)".formatted(move.id(), direction),
                    status + " --watch");
        }
    }

    private void problem(Sight sight, String server, String check, String what, String text, String... commands) {
        add(sight, Severity.PROBLEM, server, check, what, text, Duration.ZERO, commands);
    }

    private void warning(Sight sight, String server, String check, String text, String... commands) {
        add(sight, Severity.WARNING, server, check, "", text, Duration.ZERO, commands);
    }

    private void lasting(Sight sight, Severity severity, String check, String text, String... commands) {
        add(sight, severity, "catalog", check, text, text, PASSING, commands);
    }

    /** With what sets it apart from others of this check on this server, while its text may change. */
    private void add(
            Sight sight,
            Severity severity,
            String server,
            String check,
            String what,
            String text,
            Duration patience,
            String... commands) {
        String key = String.join(" ", check, server, what);
        found.add(key);
        Instant began = since.computeIfAbsent(key, unused -> sight.at());
        if (Duration.between(began, sight.at()).compareTo(patience) < 0) {
            return;
        }
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("severity", severity.toString());
        facts.put("server", server);
        facts.put("check", check);
        facts.put("found", text);
        facts.put("since", began.toString());
        facts.put("commands", List.of(commands).stream().map(questions::command).toList());
        all.add(facts);
    }
}
