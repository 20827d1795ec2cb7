/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.shardflake.CliCommand;
import org.shardflake.IdLayout;
import org.shardflake.PublicIds;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.adopt.AdoptState;
import org.shardflake.adopt.AdoptionStatus;
import org.shardflake.adopt.Slices;
import org.shardflake.cli.error.CliException;
import org.shardflake.doctor.ShardState;
import org.shardflake.load.MachineMemory;
import org.shardflake.load.RowCounts;
import org.shardflake.load.SessionMemory;
import org.shardflake.move.Move;
import org.shardflake.move.MovePhase;
import org.shardflake.move.MoveShard;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.OpenAdoptions.OpenAdoption;
import org.shardflake.move.ShardPhase;
import org.shardflake.move.Verified;
import org.shardflake.watch.InstallationSnapshot;
import org.shardflake.watch.ServerSnapshot;

class ActiveAlertsTest {

    private static final Instant NOW = Instant.parse("2026-11-23T10:00:00Z");

    /** Those of Prometheus alone: of the exporter itself, and of what happened over a time. */
    private static final Set<String> NOT_OF_A_LOOK = Set.of("exporter-gone", "move-errors");

    private final ActiveAlerts unsafe = new ActiveAlerts(new NoQuestions());

    private record NoQuestions() implements Questions {
        @Override
        public List<Map<String, Object>> findings() {
            return List.of();
        }

        @Override
        public Map<String, Object> schemas() {
            return Map.of();
        }

        @Override
        public List<Map<String, Object>> history() {
            return List.of();
        }

        /** The history says that db2 has had its shards from the beginning. */
        @Override
        public Optional<Instant> placedAt(String server, ShardSet shards) {
            return server.equals("db2") ? Optional.empty() : Optional.of(NOW.minusSeconds(60L * shards.size()));
        }

        @Override
        public Map<String, Object> move(MoveStatus status) {
            return Map.of();
        }

        @Override
        public Optional<PublicIds> publicIds() {
            return Optional.empty();
        }

        @Override
        public ShownCommand command(CliCommand command) {
            return new ShownCommand(command, command.toString());
        }
    }

    /** Shards 0 to 3 on db1, 4 to 7 on db2, 8 to 11 on db3. */
    private static InstallationSnapshot snapshot(
            Instant at, boolean catalogAnswers, List<Move> moves, Map<String, ServerSnapshot> servers) {
        return snapshot(at, catalogAnswers, moves, List.of(), servers);
    }

    private static InstallationSnapshot snapshot(
            Instant at,
            boolean catalogAnswers,
            List<Move> moves,
            List<AdoptionStatus> adoptions,
            Map<String, ServerSnapshot> servers) {
        ShardMap map = ShardMap.initial(
                new Sharding(12),
                IdLayout.DEFAULT,
                List.of(server("db1"), server("db2"), server("db3")),
                Spread.CONTIGUOUS);
        return new InstallationSnapshot(
                at,
                catalogAnswers,
                false,
                map,
                moves,
                adoptions,
                ShardSet.of(moves.stream()
                        .flatMap(move -> move.shardSet().stream().boxed())
                        .toList()),
                Optional.of(NOW.minus(Duration.ofDays(3))),
                servers);
    }

    private static AdoptionStatus adoption(AdoptState state, Duration age) {
        return adoption(state, age, Optional.empty());
    }

    private static AdoptionStatus adoption(AdoptState state, Duration age, Optional<Slices> slices) {
        return new AdoptionStatus(
                new OpenAdoption(UUID.randomUUID(), "public.note", "postgresql://old/app", "note", NOW),
                Optional.of(new AdoptionStatus.Progress(
                        state, 1, 1, Optional.of(NOW.minus(age)), age, false, slices, false, List.of())),
                "");
    }

    private static Server server(String name) {
        return new Server(name, "postgresql://%s/app".formatted(name));
    }

    private static ServerSnapshot seen(
            Map<Integer, ShardState> shards, List<ServerSnapshot.Slot> slots, boolean isRight) {
        return new ServerSnapshot(
                Duration.ofMillis(10),
                isRight ? 5 : 5000,
                18,
                isRight ? 99 : 1,
                isRight ? 5 : 99,
                100,
                new SessionMemory(100, 5, 2),
                new MachineMemory(isRight ? 1_000_000_000L : 1_000_000, true),
                shards.entrySet().stream()
                        .collect(Collectors.toMap(
                                Map.Entry::getKey,
                                shard -> new ServerSnapshot.Shard(
                                        shard.getValue(),
                                        new ServerSnapshot.Load(
                                                OptionalLong.empty(), OptionalLong.empty(), 0, RowCounts.NONE)))),
                Set.of(),
                slots,
                Map.of(),
                isRight ? List.of() : List.of(new ServerSnapshot.Standby("s", "", 1, 60_000)),
                isRight ? 0 : 1,
                isRight ? 0 : 60_000);
    }

    private static ShardState open(int shard) {
        return new ShardState(shard, 1, 0, 0, 1, 0);
    }

    private static Map<Integer, ShardState> open(int... shards) {
        return ShardSet.of(shards).stream().boxed().collect(Collectors.toMap(shard -> shard, ActiveAlertsTest::open));
    }

    private static ServerSnapshot.Slot slot(String name, boolean isActive, long bytes, boolean isLost) {
        return new ServerSnapshot.Slot(name, isActive, bytes, bytes, OptionalLong.of(0), isLost);
    }

    private static Move move() {
        MoveShard shard = new MoveShard(
                3,
                ShardPhase.COPIED,
                "db1",
                1,
                OptionalLong.empty(),
                0,
                Optional.empty(),
                0,
                Verified.NOT_COMPARED,
                OptionalDouble.empty(),
                Optional.empty());
        return new Move(
                1,
                "m1_a",
                "db1",
                "db2",
                MovePhase.FOLLOWING,
                NOW.minus(Duration.ofDays(2)),
                NOW,
                "",
                "it failed",
                Optional.of(NOW),
                List.of(shard));
    }

    private Set<String> checks(InstallationSnapshot snapshot) {
        return unsafe.of(snapshot).stream()
                .map(each -> String.valueOf(each.get("check")))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static Set<String> alerts() throws Exception {
        return Pattern.compile("alert: Shardflake(\\w+)")
                .matcher(Files.readString(Path.of("../src/monitoring/alerts.yaml")))
                .results()
                .map(alert -> alert.group(1).replaceAll("(?<=.)([A-Z])", "-$1").toLowerCase(Locale.ROOT))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** db1 has everything that is wrong at once, db2 takes writes to a shard of db1, db3 is silent. */
    @Test
    void activeAlertsHaveTheNamesOfTheRules() throws Exception {
        Map<String, ServerSnapshot> servers = Map.of(
                "db1",
                seen(
                        Map.of(1, new ShardState(1, 1, 0, 1, 0, 0)),
                        List.of(
                                slot("lost", true, 0, true),
                                slot("full", true, 20L << 30, false),
                                slot("left", false, 0, false),
                                slot("shardflake_m1_a_forward", true, 2L << 30, false)),
                        false),
                "db2",
                seen(open(0, 4, 5, 6, 7), List.of(), true));

        assertThat(checks(snapshot(NOW, false, List.of(), servers))).contains("catalog-down");
        List<AdoptionStatus> adoptions = List.of(
                adoption(AdoptState.CLOSED, Duration.ZERO), adoption(AdoptState.FOLLOWING, Duration.ofHours(2)));
        checks(snapshot(NOW, true, List.of(move()), adoptions, servers));
        Set<String> found = checks(snapshot(NOW.plusSeconds(11), true, List.of(move()), adoptions, servers));
        found.add("catalog-down");
        found.addAll(NOT_OF_A_LOOK);

        assertThat(found).isEqualTo(alerts());
    }

    @Test
    void aProblemOfMoreShardsIsAChange() {
        checks(snapshot(NOW, true, List.of(), missing(1)));
        checks(snapshot(NOW.plusSeconds(1), true, List.of(), missing(1)));
        assertThat(unsafe.hasChanged()).isFalse();
        checks(snapshot(NOW.plusSeconds(2), true, List.of(), missing(2)));
        assertThat(unsafe.hasChanged()).isTrue();
    }

    @Test
    void misplacedShardsAreSinceTheyAreNotSinceOthersAreMissing() {
        checks(snapshot(NOW, true, List.of(), missing(1)));
        Map<String, ServerSnapshot> servers = new HashMap<>(missing(1));
        servers.put("db1", seen(open(0, 1, 2, 4), List.of(), true));

        assertThat(unsafe.of(snapshot(NOW.plusSeconds(1), true, List.of(), servers)))
                .filteredOn(each -> "shards-misplaced".equals(each.get("check")))
                .extracting(each -> each.get("since"))
                .containsExactly(NOW.toString(), NOW.plusSeconds(1).toString());
        assertThat(unsafe.hasChanged()).isTrue();
    }

    @Test
    void whatTheCatalogRecordsBeganThen() {
        checks(snapshot(NOW, true, List.of(move()), Map.of()));

        assertThat(unsafe.of(snapshot(NOW.plusSeconds(60), true, List.of(move()), Map.of())))
                .extracting(each -> "%s %s %s".formatted(each.get("check"), each.get("since"), each.get("isRecorded")))
                .contains(
                        "move-left %s true".formatted(move().phaseSince()),
                        "restore-point-old %s true".formatted(NOW.minus(Duration.ofDays(1))),
                        "server-down %s false".formatted(NOW));
    }

    /** Places and phases that the catalog records only bound the time. */
    @Test
    void nothingBeganBeforeItsShardsWerePlacedOrItsMoveHadItsPhase() {
        Map<String, ServerSnapshot> servers = Map.of(
                "db1",
                seen(Map.of(0, open(0), 1, new ShardState(1, 1, 0, 1, 0, 0), 4, open(4)), List.of(), true),
                "db2",
                seen(open(5, 6), List.of(), true));
        checks(snapshot(NOW, true, List.of(), servers));

        assertThat(unsafe.of(snapshot(NOW.plusSeconds(1), true, List.of(), servers)))
                .extracting(each -> "%s %s %s %s"
                        .formatted(each.get("server"), each.get("check"), each.get("since"), each.get("notBefore")))
                .contains(
                        "db1 shards-closed %s %s".formatted(NOW, NOW.minusSeconds(60)),
                        "db1 shards-misplaced %s %s".formatted(NOW, NOW.minusSeconds(120)),
                        "db1 shards-misplaced %s %s".formatted(NOW, NOW.minusSeconds(60)),
                        "db2 shards-misplaced %s null".formatted(NOW),
                        "db3 server-down %s null".formatted(NOW));
        checks(snapshot(NOW, true, List.of(move()), Map.of()));
        assertThat(unsafe.of(snapshot(NOW.plusSeconds(60), true, List.of(move()), Map.of())))
                .filteredOn(each -> "move-failed".equals(each.get("check")))
                .extracting(each -> each.get("notBefore"))
                .containsExactly(move().phaseSince().toString());
    }

    @Test
    void aBuildWithoutTheRulesSaysSo() {
        assertThatExceptionOfType(CliException.class)
                .isThrownBy(() -> AlertRules.load("alerts-missing.yaml"))
                .withMessage(
                        "this build of shardflake lacks alerts-missing.yaml, which has the limits of the console's alerts");
    }

    @Test
    void theMapShowsWhichShardsAreInAnOldDatabase() {
        Slices slices = new Slices(ShardSet.range(2, 11), ShardSet.range(0, 1), ShardSet.of(), ShardSet.of());
        AdoptionStatus adoption = adoption(AdoptState.FOLLOWING, Duration.ZERO, Optional.of(slices));
        View view =
                new View(snapshot(NOW, true, List.of(), List.of(adoption, adoption), missing(1)), Map.of(), Map.of());

        SnapshotJson json = new SnapshotJson(view, new NoQuestions());

        assertThat(json.shards()).containsEntry("states", "ooaxaaaaaaaa");
        assertThat(json.now().toString()).contains("inOldDatabase=2", "inOldDatabase=4");
    }

    @Test
    void curvesHaveAPointEachTenSecondsAndAGapWhereNobodyLooked() {
        Curves curves = new Curves();
        assertThat(curves.add(snapshot(NOW, true, List.of(), missing(1)))).isTrue();
        assertThat(curves.add(snapshot(NOW.plusSeconds(9), true, List.of(), missing(1))))
                .isFalse();
        assertThat(curves.add(snapshot(NOW.plusSeconds(10), true, List.of(), missing(1))))
                .isTrue();
        assertThat(curves.add(snapshot(NOW.plusSeconds(1000), true, List.of(), missing(1))))
                .isTrue();
        assertThat(connections(curves)).isEqualTo(Arrays.asList(5.0, 5.0, null, 5.0));

        curves.add(snapshot(NOW.plusSeconds(3605), true, List.of(), Map.of()));
        assertThat(connections(curves)).isEqualTo(Arrays.asList(5.0, null, 5.0, null, null));
    }

    /** The curve of db1. */
    private static List<?> connections(Curves curves) {
        return (List<?>) ((List<?>) Objects.requireNonNull(curves.facts().get("connections"))).get(0);
    }

    @Test
    void nothingIsKnownOfATimeWhenNobodyLooked() {
        checks(snapshot(NOW, true, List.of(move()), missing(1)));

        assertThat(checks(snapshot(NOW.plusSeconds(3600), true, List.of(move()), missing(1))))
                .doesNotContain("move-left");
    }

    /** The last shards of db1 are. */
    private static Map<String, ServerSnapshot> missing(int count) {
        return Map.of(
                "db1", seen(open(IntStream.range(0, 4 - count).toArray()), List.of(), true),
                "db2", seen(open(4, 5, 6, 7), List.of(), true),
                "db3", seen(open(8, 9, 10, 11), List.of(), true));
    }

    @Test
    void whatMayBePassingIsToldWhenItHasLasted() {
        Map<String, ServerSnapshot> servers = Map.of(
                "db1", seen(open(0, 1, 2, 3), List.of(), true),
                "db2", seen(open(4, 5, 6, 7), List.of(), true),
                "db3", seen(open(8, 9, 10, 11), List.of(), true));

        assertThat(checks(snapshot(NOW, true, List.of(move()), servers))).containsExactly("restore-point-old");
        assertThat(unsafe.hasChanged()).isTrue();
        assertThat(checks(snapshot(NOW.plusSeconds(9), true, List.of(move()), servers)))
                .containsExactly("restore-point-old");
        assertThat(unsafe.hasChanged()).isFalse();
        assertThat(checks(snapshot(NOW.plusSeconds(10), true, List.of(move()), servers)))
                .contains("move-failed", "move-stopped", "move-left");
        assertThat(checks(snapshot(NOW.plusSeconds(12), true, List.of(), servers)))
                .containsExactly("restore-point-old");
        assertThat(unsafe.hasChanged()).isTrue();
    }
}
