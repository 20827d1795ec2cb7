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
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.adopt.AdoptState;
import org.shardflake.adopt.AdoptionStatus;
import org.shardflake.doctor.Severity;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.Move;
import org.shardflake.move.MovePhase;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.OpenAdoptions.OpenAdoption;
import org.shardflake.move.StreamStatus;
import org.shardflake.sql.FunctionLibrary;
import org.shardflake.watch.InstallationSnapshot;
import org.shardflake.watch.PlacementState;
import org.shardflake.watch.ServerSnapshot;

/**
 * Evaluates the {@link AlertRules} on snapshots of the installation, without Prometheus. A problem that may pass by itself is shown once it has
 * lasted. Not thread-safe.
 */
final class ActiveAlerts {

    private static final Duration PASSING = Duration.ofSeconds(10);

    /**
     * The longest time between snapshots for which an alert counts as uninterrupted; longer than the interval at which snapshots are taken
     * while no page is open.
     */
    private static final Duration PAUSE = Duration.ofSeconds(150);

    /** The doctor's findings that report the same problem as an alert, in more detail. */
    private static final Map<String, List<String>> DOCTOR_TELLS = Map.of(
            "adoption-behind", List.of("adoption-behind"),
            "adoption-closed", List.of("adoption-closed"),
            "server-down", List.of("server-readable"),
            "shards-closed", List.of("shard-closed"),
            "shards-misplaced", List.of("shard-missing", "shard-misplaced", "shard-open-elsewhere", "shard-doubtful"),
            "clock-wrong", List.of("clock"),
            "sequences-ahead", List.of("sequence-ahead"),
            "library-old", List.of("function-library"));

    private static final String MOVES_SLOT = "shardflake_m[0-9]+_.*";
    private static final long GIB = 1L << 30;

    private final Questions questions;
    private final AlertRules rules = AlertRules.load();
    private final Map<String, Instant> since = new HashMap<>();
    private final Set<String> found = new HashSet<>();

    /** The start times of alerts that the catalog has recorded. */
    private final Map<String, Instant> recorded = new HashMap<>();

    /** The times before which alerts cannot have begun, according to the catalog. */
    private final Map<String, Instant> bounds = new HashMap<>();

    /** The history's answers, kept so that the catalog is asked once for each problem. */
    private Map<Placed, Optional<Instant>> placed = Map.of();

    private Map<Placed, Optional<Instant>> placedNow = new HashMap<>();

    private record Placed(long version, String server, ShardSet shards) {}

    private Set<String> problems = Set.of();
    private final List<Map<String, Object>> all = new ArrayList<>();
    private Instant last = Instant.MAX;
    private boolean hasChanged;

    ActiveAlerts(Questions questions) {
        this.questions = questions;
    }

    /** The active alerts, problems first. */
    List<Map<String, Object>> of(InstallationSnapshot snapshot) {
        if (snapshot.at().minus(PAUSE).isAfter(last)) {
            since.clear();
        }
        last = snapshot.at();
        Set<String> before = Set.copyOf(since.keySet());
        found.clear();
        recorded.clear();
        bounds.clear();
        placedNow = new HashMap<>();
        all.clear();
        catalog(snapshot);
        snapshot.map().servers().forEach(server -> server(snapshot, server));
        if (snapshot.catalogAnswers()) {
            snapshot.moves().forEach(move -> move(snapshot, move));
        }
        snapshot.adoptions().forEach(adoption -> adoption(snapshot, adoption));
        since.keySet().retainAll(found);
        placed = placedNow;
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

    /** Whether the last snapshot showed anything new, or lacked anything that the one before showed, such as a problem of more shards. */
    boolean hasChanged() {
        return hasChanged;
    }

    private static boolean isWarning(Map<String, Object> each) {
        return Severity.WARNING.toString().equals(each.get("severity"));
    }

    private void catalog(InstallationSnapshot snapshot) {
        if (!snapshot.catalogAnswers()) {
            add(
                    snapshot,
                    Severity.PROBLEM, // More than in the rules: the operator can change nothing.
                    "catalog",
                    "catalog-down",
                    "",
                    "does not answer. Applications continue with their copy of the shard map. Moves and changes of the map have to wait",
                    Duration.ZERO,
                    CliCommand.DOCTOR);
        } else if (snapshot.catalogIsStandby()) {
            found(
                    snapshot,
                    "catalog",
                    "catalog-down",
                    "",
                    "only a standby answers. Its data may be old. Moves and changes of the map have to wait",
                    CliCommand.DOCTOR);
        }
        long old = Math.round(rules.limit("restore-point-old"));
        snapshot.restorePoint().ifPresent(at -> record("restore-point-old", "", at.plusSeconds(old)));
        snapshot.restorePoint()
                .map(at -> Duration.between(at, snapshot.at()))
                .filter(age -> age.toSeconds() > old)
                .ifPresent(age -> found(
                        snapshot,
                        "catalog",
                        "restore-point-old",
                        "",
                        "the newest restore point is %s days old".formatted(age.toDays()),
                        CliCommand.RESTORE_POINT));
    }

    private void adoption(InstallationSnapshot snapshot, AdoptionStatus status) {
        OpenAdoption adoption = status.adoption();
        if (status.isLeftClosed()) {
            add(
                    snapshot,
                    rules.severity("adoption-closed"),
                    "catalog",
                    "adoption-closed",
                    adoption.id().toString(),
                    "%s of %s refuses writes, and no command works on its adoption"
                            .formatted(adoption.table(), adoption.database()),
                    PASSING,
                    CliCommand.DOCTOR);
        }
        status.progress()
                .filter(progress -> progress.state() != AdoptState.COPYING || !progress.isWorkedOn())
                .map(AdoptionStatus.Progress::age)
                .filter(age -> age.toSeconds() > rules.limit("adoption-behind"))
                .ifPresent(age -> found(
                        snapshot,
                        "catalog",
                        "adoption-behind",
                        adoption.id().toString(),
                        "the shards lack changes of %s of %s, the oldest %s minutes old"
                                .formatted(adoption.table(), adoption.database(), age.toMinutes()),
                        CliCommand.DOCTOR));
    }

    private void server(InstallationSnapshot snapshot, Server server) {
        String name = server.name();
        ServerSnapshot seen = snapshot.servers().get(name);
        if (seen == null) {
            found(
                    snapshot,
                    name,
                    "server-down",
                    "",
                    "does not answer as a primary, so its %s cannot be written"
                            .formatted(Plural.of(snapshot.map().shards(server).size(), "shard")),
                    CliCommand.DOCTOR);
            return;
        }
        shards(
                snapshot,
                server,
                PlacementState.CLOSED,
                "shards-closed",
                shards -> "%s writes, although no move is using %s"
                        .formatted(Plural.shards(shards, "refuses", "refuse"), Plural.choose(shards, "it", "them")));
        shards(
                snapshot,
                server,
                PlacementState.MISSING,
                "shards-misplaced",
                shards -> Plural.shards(shards, "is missing", "are missing"));
        ShardSet misplaced = snapshot.misplaced(server);
        if (!misplaced.isEmpty()) {
            bound(snapshot, name, "shards-misplaced", "takes", misplaced);
            found(
                    snapshot,
                    name,
                    "shards-misplaced",
                    "takes",
                    "accepts writes to %s, which %s by the shard map"
                            .formatted(
                                    Plural.shards(misplaced),
                                    Plural.choose(misplaced, "is on another server", "are on other servers")),
                    CliCommand.DOCTOR);
        }
        slots(snapshot, name, seen);
        figures(snapshot, name, seen);
    }

    private void shards(
            InstallationSnapshot snapshot,
            Server server,
            PlacementState state,
            String check,
            Function<ShardSet, String> text) {
        List<Integer> shards = snapshot.map().shards(server).stream()
                .filter(shard -> snapshot.state(shard) == state)
                .boxed()
                .toList();
        if (!shards.isEmpty()) {
            bound(snapshot, server.name(), check, state.toString(), ShardSet.of(shards));
            found(snapshot, server.name(), check, state.toString(), text.apply(ShardSet.of(shards)), CliCommand.DOCTOR);
        }
    }

    private void slots(InstallationSnapshot snapshot, String server, ServerSnapshot seen) {
        Set<String> copying = snapshot.moves().stream()
                .filter(move -> move.phase() == MovePhase.PREPARING || move.phase() == MovePhase.COPYING)
                .map(move -> "shardflake_%s_".formatted(move.tag()))
                .collect(Collectors.toSet());
        for (ServerSnapshot.Slot slot : seen.slots()) {
            if (slot.isLost()) {
                found(
                        snapshot,
                        server,
                        "slot-lost",
                        slot.name(),
                        "slot %s has lost log that it needs. Cancel its move, or rebuild its standby"
                                .formatted(slot.name()),
                        CliCommand.MOVE_STATUS);
            } else if (slot.retainedBytes() > rules.limit("slot-keeps-log")
                    && copying.stream().noneMatch(slot.name()::startsWith)) {
                found(
                        snapshot,
                        server,
                        "slot-keeps-log",
                        slot.name(),
                        "slot %s keeps %s GiB of log, and the disk is filling up"
                                .formatted(slot.name(), slot.retainedBytes() / GIB),
                        CliCommand.MOVE_STATUS);
            } else if (!slot.isActive() && !slot.name().matches(MOVES_SLOT)) {
                add(
                        snapshot,
                        rules.severity("slot-inactive"),
                        server,
                        "slot-inactive",
                        slot.name(),
                        "slot %s has no receiver, and the server keeps log for it".formatted(slot.name()),
                        PASSING);
            }
        }
        for (ServerSnapshot.Standby standby : seen.standbys()) {
            if (standby.lagMillis() > 1000 * rules.limit("standby-behind")) {
                found(
                        snapshot,
                        server,
                        "standby-behind",
                        standby.name(),
                        "standby %s is %s s behind".formatted(standby.name(), standby.lagMillis() / 1000));
            }
        }
    }

    private void figures(InstallationSnapshot snapshot, String server, ServerSnapshot seen) {
        if (Math.abs(seen.clockMillis()) > 1000 * rules.limit("clock-wrong")) {
            found(
                    snapshot,
                    server,
                    "clock-wrong",
                    "",
                    String.format(
                            Locale.ROOT,
                            "the clock is %.1f s %s this machine's. Ids stay unique, but their time is wrong",
                            Math.abs(seen.clockMillis()) / 1000,
                            seen.clockMillis() > 0 ? "ahead of" : "behind"));
        }
        if (seen.aheadMillis() > 1000 * rules.limit("sequences-ahead")) {
            found(
                    snapshot,
                    server,
                    "sequences-ahead",
                    "",
                    "%s of ids %s ahead of the clock, by up to %s s"
                            .formatted(
                                    Plural.of(seen.sequencesAhead(), "sequence"),
                                    seen.sequencesAhead() == 1 ? "is" : "are",
                                    seen.aheadMillis() / 1000),
                    CliCommand.DOCTOR);
        }
        if (seen.connections() > rules.limit("connections-scarce") * seen.maxConnections()) {
            found(
                    snapshot,
                    server,
                    "connections-scarce",
                    "",
                    "%s of %s connections are in use".formatted(seen.connections(), seen.maxConnections()));
        }
        long sessionBytes = seen.sessions()
                .bytes(snapshot.map().server(server).applicationUrl().isPresent());
        if (sessionBytes > rules.limit("session-memory") * seen.memory().bytes()) {
            found(
                    snapshot,
                    server,
                    "session-memory",
                    "",
                    String.format(
                            Locale.ROOT,
                            "its sessions may use %.1f of its %.1f GB of memory to cache tables",
                            sessionBytes / 1e9,
                            seen.memory().bytes() / 1e9),
                    CliCommand.DOCTOR);
        }
        if (seen.libraryVersion() < FunctionLibrary.version()) {
            found(
                    snapshot,
                    server,
                    "library-old",
                    "",
                    "the function library is version %s, older than this command's, %s"
                            .formatted(seen.libraryVersion(), FunctionLibrary.version()),
                    CliCommand.UPGRADE_DRY_RUN);
        }
    }

    private void move(InstallationSnapshot snapshot, Move move) {
        CliCommand status = CliCommand.MOVE_STATUS_OF.with(move.id());
        if (!move.problem().isEmpty() && !snapshot.isComparing(move)) {
            String text = "the last step of move %s failed: %s".formatted(move.id(), move.problem());
            bounds.put(key("move-failed", "catalog", text), move.phaseSince()); // A phase begins without a problem.
            lasting(snapshot, "move-failed", text, status);
        }
        if (move.phase() == MovePhase.FOLLOWING
                && Duration.between(move.phaseSince(), snapshot.at()).toSeconds() > rules.limit("move-left")) {
            String text = "move %s is still open, so both servers keep a copy of its shards, and log for it"
                    .formatted(move.id());
            record("move-left", text, move.phaseSince());
            lasting(snapshot, "move-left", text, status);
        }
        snapshot.status(move).ifPresent(seen -> streams(snapshot, move, seen, status));
    }

    private void streams(InstallationSnapshot snapshot, Move move, MoveStatus seen, CliCommand status) {
        boolean follows = move.phase() == MovePhase.FOLLOWING;
        if (follows || move.phase() == MovePhase.CATCHING_UP) {
            stream(snapshot, move, "forward", seen.forward(), status);
        }
        if (follows && !snapshot.isComparing(move)) {
            stream(snapshot, move, "reverse", seen.reverse(), status);
        }
    }

    private void stream(
            InstallationSnapshot snapshot, Move move, String direction, StreamStatus stream, CliCommand status) {
        if (!stream.running()) {
            lasting(
                    snapshot,
                    "move-stopped",
                    "move %s has stopped following (%s), and the publisher keeps log until it follows again"
                            .formatted(move.id(), direction),
                    status);
        } else if (stream.lagBytes() > rules.limit("move-behind")) {
            lasting(
                    snapshot,
                    "move-behind",
                    "move %s is more than %s GiB behind (%s)"
                            .formatted(move.id(), Math.round(rules.limit("move-behind") / GIB), direction),
                    CliCommand.MOVE_STATUS_OF_WATCH.with(move.id()));
        }
    }

    private void found(
            InstallationSnapshot snapshot,
            String server,
            String check,
            String what,
            String text,
            CliCommand... commands) {
        add(snapshot, rules.severity(check), server, check, what, text, Duration.ZERO, commands);
    }

    private void record(String check, String what, Instant began) {
        recorded.put(key(check, "catalog", what), began);
    }

    /** Limits an alert's start time, since a shard cannot be misplaced before the map has placed it. */
    private void bound(InstallationSnapshot snapshot, String server, String check, String what, ShardSet shards) {
        Placed key = new Placed(snapshot.map().version(), server, shards);
        Optional<Instant> known = placed.get(key);
        if (known == null && snapshot.catalogAnswers()) {
            try {
                known = questions.placedAt(server, shards);
            } catch (ShardflakeException e) {
                // That the catalog does not answer is another alert; the next look asks again.
            }
        }
        if (known != null) {
            placedNow.put(key, known);
            known.ifPresent(at -> bounds.put(key(check, server, what), at));
        }
    }

    private static String key(String check, String server, String what) {
        return String.join(" ", check, server, what);
    }

    private void lasting(InstallationSnapshot snapshot, String check, String text, CliCommand... commands) {
        add(snapshot, rules.severity(check), "catalog", check, text, text, PASSING, commands);
    }

    /**
     * Adds a finding.
     *
     * @param what identifies it among others of its check and server, while its text may change
     */
    private void add(
            InstallationSnapshot snapshot,
            Severity severity,
            String server,
            String check,
            String what,
            String text,
            Duration patience,
            CliCommand... commands) {
        String key = key(check, server, what);
        found.add(key);
        Instant seen = since.computeIfAbsent(key, unused -> snapshot.at());
        if (Duration.between(seen, snapshot.at()).compareTo(patience) < 0) {
            return;
        }
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("severity", severity.toString());
        facts.put("server", server);
        facts.put("check", check);
        facts.put("found", text);
        Instant began = recorded.get(key);
        facts.put("since", (began == null ? seen : began).toString());
        facts.put("isRecorded", began != null);
        Instant bound = bounds.get(key);
        facts.put("notBefore", bound == null || bound.isAfter(seen) ? null : bound.toString());
        facts.put("tells", DOCTOR_TELLS.getOrDefault(check, List.of()));
        facts.put("commands", List.of(commands).stream().map(questions::command).toList());
        all.add(facts);
    }
}
