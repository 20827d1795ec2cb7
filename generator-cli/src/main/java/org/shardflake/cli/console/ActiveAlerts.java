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
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardSet;
import org.shardflake.doctor.Severity;
import org.shardflake.move.Move;
import org.shardflake.move.MovePhase;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.StreamStatus;
import org.shardflake.sql.FunctionLibrary;
import org.shardflake.watch.InstallationSnapshot;
import org.shardflake.watch.PlacementState;
import org.shardflake.watch.ServerSnapshot;

/**
 * Judges a snapshot of the installation by the {@link AlertRules}, without Prometheus. A problem that may pass by itself is shown once it
 * has lasted. Not thread-safe.
 */
final class ActiveAlerts {

    private static final Duration PASSING = Duration.ofSeconds(10);

    /** The longest time between snapshots for which an alert counts as uninterrupted. */
    private static final Duration PAUSE = Duration.ofSeconds(15);

    private static final String MOVES_SLOT = "shardflake_m[0-9]+_.*";
    private static final long GIB = 1L << 30;

    private final Questions questions;
    private final AlertRules rules = AlertRules.load();
    private final Map<String, Instant> since = new HashMap<>();
    private final Set<String> found = new HashSet<>();
    private Set<String> problems = Set.of();
    private final List<Map<String, Object>> all = new ArrayList<>();
    private Instant last = Instant.MAX;
    private boolean hasChanged;

    ActiveAlerts(Questions questions) {
        this.questions = questions;
    }

    /** The problems first. */
    List<Map<String, Object>> of(InstallationSnapshot sight) {
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

    private void catalog(InstallationSnapshot sight) {
        if (!sight.catalogAnswers()) {
            add(
                    sight,
                    Severity.PROBLEM, // More than in the rules: the operator can change nothing.
                    "catalog",
                    "catalog-down",
                    "",
                    "the catalog does not answer: applications continue with the shard map that they have; no move and no change of the map is possible",
                    Duration.ZERO,
                    CliCommand.DOCTOR);
        } else if (sight.catalogIsStandby()) {
            found(
                    sight,
                    "catalog",
                    "catalog-down",
                    "",
                    "only a standby of the catalog answers: what it says may be old, and no change of the map is possible",
                    CliCommand.DOCTOR);
        }
        sight.restorePoint()
                .map(at -> Duration.between(at, sight.at()))
                .filter(age -> age.toSeconds() > rules.limit("restore-point-old"))
                .ifPresent(age -> found(
                        sight,
                        "catalog",
                        "restore-point-old",
                        "",
                        "the newest restore point is %s days old".formatted(age.toDays()),
                        CliCommand.RESTORE_POINT));
    }

    private void server(InstallationSnapshot sight, Server server) {
        String name = server.name();
        ServerSnapshot seen = sight.servers().get(name);
        if (seen == null) {
            found(
                    sight,
                    name,
                    "server-down",
                    "",
                    "does not answer as a primary: its %s shards cannot be written"
                            .formatted(sight.map().shards(server).size()),
                    CliCommand.DOCTOR);
            return;
        }
        shards(sight, server, PlacementState.CLOSED, "shards-closed", "shards %s refuse writes, and no move has them");
        shards(sight, server, PlacementState.MISSING, "shards-misplaced", "shards %s are missing");
        ShardSet misplaced = sight.misplaced(server);
        if (!misplaced.isEmpty()) {
            found(
                    sight,
                    name,
                    "shards-misplaced",
                    "takes",
                    "takes writes to shards %s, which the shard map gives to others".formatted(misplaced),
                    CliCommand.DOCTOR);
        }
        slots(sight, name, seen);
        figures(sight, name, seen);
    }

    private void shards(InstallationSnapshot sight, Server server, PlacementState state, String check, String text) {
        List<Integer> shards = sight.map().shards(server).stream()
                .filter(shard -> sight.state(shard) == state)
                .boxed()
                .toList();
        if (!shards.isEmpty()) {
            found(
                    sight,
                    server.name(),
                    check,
                    state.toString(),
                    text.formatted(ShardSet.of(shards)),
                    CliCommand.DOCTOR);
        }
    }

    private void slots(InstallationSnapshot sight, String server, ServerSnapshot seen) {
        Set<String> copying = sight.moves().stream()
                .filter(move -> move.phase() == MovePhase.PREPARING || move.phase() == MovePhase.COPYING)
                .map(move -> "shardflake_%s_".formatted(move.tag()))
                .collect(Collectors.toSet());
        for (ServerSnapshot.Slot slot : seen.slots()) {
            if (slot.isLost()) {
                found(
                        sight,
                        server,
                        "slot-lost",
                        slot.name(),
                        "slot %s has lost WAL that it needs: cancel its move, or rebuild its standby"
                                .formatted(slot.name()),
                        CliCommand.MOVE_STATUS);
            } else if (slot.retainedBytes() > rules.limit("slot-keeps-log")
                    && copying.stream().noneMatch(slot.name()::startsWith)) {
                found(
                        sight,
                        server,
                        "slot-keeps-log",
                        slot.name(),
                        "slot %s keeps %s GiB of log, which fills the disk"
                                .formatted(slot.name(), slot.retainedBytes() / GIB),
                        CliCommand.MOVE_STATUS);
            } else if (!slot.isActive() && !slot.name().matches(MOVES_SLOT)) {
                add(
                        sight,
                        rules.severity("slot-inactive"),
                        server,
                        "slot-inactive",
                        slot.name(),
                        "slot %s has no receiver: the server keeps WAL for it".formatted(slot.name()),
                        PASSING);
            }
        }
        for (ServerSnapshot.Standby standby : seen.standbys()) {
            if (standby.lagMillis() > 1000 * rules.limit("standby-behind")) {
                found(
                        sight,
                        server,
                        "standby-behind",
                        standby.name(),
                        "standby %s is %s s behind".formatted(standby.name(), standby.lagMillis() / 1000));
            }
        }
    }

    private void figures(InstallationSnapshot sight, String server, ServerSnapshot seen) {
        if (Math.abs(seen.clockMillis()) > 1000 * rules.limit("clock-wrong")) {
            found(
                    sight,
                    server,
                    "clock-wrong",
                    "",
                    String.format(
                            Locale.ROOT,
                            "its clock is %.1f s %s that of this machine; ids stay unique, but carry a wrong time",
                            Math.abs(seen.clockMillis()) / 1000,
                            seen.clockMillis() > 0 ? "ahead of" : "behind"));
        }
        if (seen.aheadMillis() > 1000 * rules.limit("sequences-ahead")) {
            found(
                    sight,
                    server,
                    "sequences-ahead",
                    "",
                    "%s sequences of ids are ahead of its clock, one by %s s"
                            .formatted(seen.sequencesAhead(), seen.aheadMillis() / 1000),
                    CliCommand.DOCTOR);
        }
        if (seen.connections() > rules.limit("connections-scarce") * seen.maxConnections()) {
            found(
                    sight,
                    server,
                    "connections-scarce",
                    "",
                    "%s of %s connections are in use".formatted(seen.connections(), seen.maxConnections()));
        }
        if (seen.libraryVersion() < FunctionLibrary.version()) {
            found(
                    sight,
                    server,
                    "library-old",
                    "",
                    "has version %s of the function library, and this command has %s"
                            .formatted(seen.libraryVersion(), FunctionLibrary.version()),
                    CliCommand.UPGRADE_DRY_RUN);
        }
    }

    private void move(InstallationSnapshot sight, Move move) {
        CliCommand status = CliCommand.MOVE_STATUS_OF.with(move.id());
        if (!move.problem().isEmpty() && !sight.isComparing(move)) {
            lasting(
                    sight,
                    "move-failed",
                    "move %s: its last step failed: %s".formatted(move.id(), move.problem()),
                    status);
        }
        if (move.phase() == MovePhase.FOLLOWING
                && Duration.between(move.phaseSince(), sight.at()).toSeconds() > rules.limit("move-left")) {
            lasting(
                    sight,
                    "move-left",
                    "move %s has been following since %s: both servers keep a copy, and log for it"
                            .formatted(move.id(), move.phaseSince()),
                    status);
        }
        sight.status(move).ifPresent(seen -> streams(sight, move, seen, status));
    }

    private void streams(InstallationSnapshot sight, Move move, MoveStatus seen, CliCommand status) {
        boolean follows = move.phase() == MovePhase.FOLLOWING;
        if (follows || move.phase() == MovePhase.CATCHING_UP) {
            stream(sight, move, "forward", seen.forward(), status);
        }
        if (follows && !sight.isComparing(move)) {
            stream(sight, move, "reverse", seen.reverse(), status);
        }
    }

    private void stream(
            InstallationSnapshot sight, Move move, String direction, StreamStatus stream, CliCommand status) {
        if (!stream.running()) {
            lasting(
                    sight,
                    "move-stopped",
                    "move %s does not follow (%s): the publisher keeps its log until it does"
                            .formatted(move.id(), direction),
                    status);
        } else if (stream.lagBytes() > rules.limit("move-behind")) {
            lasting(
                    sight,
                    "move-behind",
                    "move %s is more than %s GiB behind (%s)"
                            .formatted(move.id(), Math.round(rules.limit("move-behind") / GIB), direction),
                    CliCommand.MOVE_STATUS_OF_WATCH.with(move.id()));
        }
    }

    private void found(
            InstallationSnapshot sight, String server, String check, String what, String text, CliCommand... commands) {
        add(sight, rules.severity(check), server, check, what, text, Duration.ZERO, commands);
    }

    private void lasting(InstallationSnapshot sight, String check, String text, CliCommand... commands) {
        add(sight, rules.severity(check), "catalog", check, text, text, PASSING, commands);
    }

    /**
     * Adds a finding.
     *
     * @param what identifies it among others of its check and server, while its text may change
     */
    private void add(
            InstallationSnapshot sight,
            Severity severity,
            String server,
            String check,
            String what,
            String text,
            Duration patience,
            CliCommand... commands) {
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
