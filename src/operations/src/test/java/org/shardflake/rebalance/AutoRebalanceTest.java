/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.AccountShards;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.parallel.MoveRequest;
import org.shardflake.move.parallel.ParallelMoves;
import org.shardflake.rebalance.Decision.Choice;

/** Rounds on two servers: 4 shards on db1, written all the time, and none on db2. */
class AutoRebalanceTest {

    private static final int SHARDS = 4;
    private static final Duration OVER = Duration.ofSeconds(4);
    private static final Duration WATCH = Duration.ofSeconds(2);

    /**
     * How long the engine's commits take at least where nothing is wrong, and where something is; in ms. Other tests on the same machine make
     * those of a server without a delay ten times slower for seconds.
     */
    private static final int USUAL_DELAY = 10;

    private static final int LONG_DELAY = 600;

    /** Percent, for servers with these delays. */
    private static final int SLOWER = 200;

    private static final String ALLOWED = "shardflake.driver.classes";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    static Path directory;

    /** Percent; the servers of a test share a disk with whatever else is going on. */
    private int slower = 1000;

    private final List<Decision> log = new ArrayList<>();
    private AccountShards shards;
    private ZipfLoad load;

    @BeforeAll
    static void allow() {
        System.setProperty(ALLOWED, SlowSockets.class.getName());
    }

    @AfterAll
    static void allowNoMore() {
        System.clearProperty(ALLOWED);
    }

    @BeforeEach
    void write() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, SHARDS, directory);
        load = new ZipfLoad(shards, SHARDS, 1);
        SlowSockets.delay("db1", USUAL_DELAY);
        SlowSockets.delay("db2", USUAL_DELAY);
    }

    @AfterEach
    void endWriting() {
        load.close();
    }

    private AutoRebalance engine(int budget, AutoRebalance.Carrier carrier) {
        return engine(RebalanceSettings.by(RebalanceBy.RATE), budget, carrier);
    }

    private AutoRebalance engine(RebalanceSettings plan, int budget, AutoRebalance.Carrier carrier) {
        AutoSettings settings = new AutoSettings(plan, OVER, Duration.ofHours(1), WATCH, slower, budget);
        return new AutoRebalance(
                shards.catalogUrl(),
                server -> shards.url(server.name(), SlowSockets.parameters(server.name())),
                settings,
                carrier,
                decision -> {
                    System.out.println(decision);
                    log.add(decision);
                });
    }

    private Mover mover() {
        return shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
    }

    private void carryOut(List<MoveRequest> moves) throws InterruptedException {
        new ParallelMoves(mover(), "a test").run(moves);
    }

    private ShardSet on(String server) {
        ShardMap map = shards.catalog().load();
        return map.shards(map.server(server));
    }

    private List<Choice> choices() {
        return log.stream().map(Decision::choice).toList();
    }

    @Test
    @Tag("full")
    void aRoundMovesWhatIsWrittenAndTheNextOneLeavesItThere() throws Exception {
        try (AutoRebalance engine = engine(20, this::carryOut)) {
            engine.round();
            ShardSet moved = on("db2");
            assertThat(moved.isEmpty()).isFalse();
            assertThat(choices()).containsExactly(Choice.MOVE, Choice.KEEP);

            engine.round();
            assertThat(on("db2").and(moved)).isEqualTo(moved);
        }
        load.requireNoErrors();
    }

    @Test
    @Tag("full")
    void whatMadeItsTargetSlowerIsTurnedBackAndStays() throws Exception {
        slower = SLOWER;
        AutoRebalance.Carrier slowing = moves -> {
            carryOut(moves);
            SlowSockets.delay("db2", on("db2").isEmpty() ? USUAL_DELAY : LONG_DELAY);
        };
        try (AutoRebalance engine = engine(20, slowing)) {
            engine.round();
            assertThat(choices()).containsExactly(Choice.MOVE, Choice.TURN_BACK);
            assertThat(on("db2").isEmpty()).isTrue();
            assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
            ShardSet turnedBack = log.get(0).move().orElseThrow().shards();

            engine.round();
            assertThat(on("db1").and(turnedBack)).isEqualTo(turnedBack);
            assertThat(log.get(2).move().map(MoveRequest::shards).map(turnedBack::and))
                    .isIn(Optional.empty(), Optional.of(ShardSet.of()));
        }
        load.requireNoErrors();
    }

    @Test
    @Tag("full")
    void aServerThatIsSlowForAnotherReasonStopsIt() throws Exception {
        slower = SLOWER;
        AutoRebalance.Carrier slowing = moves -> {
            carryOut(moves);
            SlowSockets.delay("db2", LONG_DELAY);
        };
        try (AutoRebalance engine = engine(20, slowing)) {
            assertThatThrownBy(engine::round)
                    .hasMessageStartingWith("commits on db2 took ")
                    .hasMessageContaining("left again: it was not ");
        }
        assertThat(choices()).containsExactly(Choice.MOVE, Choice.TURN_BACK, Choice.STOP);
        assertThat(on("db2").isEmpty()).isTrue();
    }

    @Test
    @Tag("full")
    void aBudgetThatIsUsedUpLetsNothingMove() throws Exception {
        Mover mover = mover();
        mover.carryOut(mover.beginOrResume("db1", "db2", ShardSet.of(3), "someone else"), false);
        mover.carryOut(mover.beginOrResume("db2", "db1", ShardSet.of(3), "someone else"), false);
        try (AutoRebalance engine = engine(2, this::carryOut)) {
            engine.round();
        }
        assertThat(choices()).containsExactly(Choice.WAIT);
        assertThat(log.get(0).why()).isEqualTo("the budget of 2 shards an hour is used up");
        assertThat(on("db2").isEmpty()).isTrue();
    }

    @Test
    void aMoveOfSomebodyElseStopsIt() throws Exception {
        Mover mover = mover();
        Move other = mover.beginOrResume("db1", "db2", ShardSet.of(3), "someone else");
        try (AutoRebalance engine = engine(20, this::carryOut)) {
            assertThatThrownBy(engine::round)
                    .isInstanceOfSatisfying(
                            ShardflakeException.class, e -> assertThat(e.kind()).isEqualTo(Kind.PRECONDITION))
                    .hasMessage("move %s of shard 3 from db1 to db2 is in progress, and does not belong to this run"
                            .formatted(other.id()));
        }
        assertThat(choices()).containsExactly(Choice.STOP);
        mover.cancel(other.id(), Mover.End.BACK);
    }

    @Test
    @Tag("full")
    void aChangeOfTheMapDuringARoundStopsIt() throws Exception {
        AutoRebalance.Carrier another = moves -> {
            carryOut(moves);
            ShardSet left = on("db1");
            carryOut(List.of(new MoveRequest(
                    "db1", "db2", ShardSet.of(left.stream().findFirst().orElseThrow()))));
        };
        try (AutoRebalance engine = engine(20, another)) {
            assertThatThrownBy(engine::round)
                    .hasMessageStartingWith("someone else has changed the shard map: placed shard");
        }
        assertThat(choices()).containsExactly(Choice.MOVE, Choice.STOP);
    }

    @Test
    void aClosedShardStopsIt() throws Exception {
        shards.execute("db1", "SELECT shardflake.fence_shard(0)");
        try (AutoRebalance engine = engine(20, this::carryOut)) {
            assertThatThrownBy(engine::round).hasMessage("shard 0 refuses writes on db1");
        } finally {
            shards.execute("db1", "SELECT shardflake.unfence_shard(0)");
        }
    }

    @Test
    @Tag("full")
    void countersThatAreResetStopIt() throws Exception {
        AtomicBoolean ends = new AtomicBoolean();
        CompletableFuture<Void> resetting =
                CompletableFuture.runAsync(() -> Sql.translating(() -> keepResetting(ends)));
        try (AutoRebalance engine =
                engine(RebalanceSettings.by(RebalanceBy.RATE).within(1000), 20, this::carryOut)) {
            assertThatThrownBy(engine::run).hasMessageContaining("counters were reset");
        } finally {
            ends.set(true);
        }
        resetting.join();
        assertThat(log.get(log.size() - 1).choice()).isEqualTo(Choice.STOP);
    }

    /** More is counted before than after a reset, else nobody would notice. */
    private void keepResetting(AtomicBoolean ends) throws SQLException {
        while (!ends.get()) {
            shards.execute("db1", "INSERT INTO shard_0000.account (uid) SELECT 0 FROM generate_series(1, 50000)");
            shards.execute("db1", "SELECT pg_stat_reset(), pg_sleep(0.5)");
        }
    }
}
