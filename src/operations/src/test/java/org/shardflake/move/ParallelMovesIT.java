/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.parallel.MoveRequest;
import org.shardflake.move.parallel.ParallelMoves;
import org.shardflake.move.parallel.SomeMovesFailedException;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.router.ShardRouter;

/** Several moves at once, under load: no write lost, none doubled, no error; killed, and with a target that fails. */
@Tag("full")
class ParallelMovesIT {

    private static final int TARGETS = 3;
    private static final int SHARDS = 9;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(TARGETS + 2);

    @TempDir
    Path directory;

    private AccountShards shards;
    private DrainPlan plan;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, TARGETS + 1, SHARDS, directory);
        plan = new DrainPlan(shards, directory);
    }

    /** Counts moves and cutovers that are in progress at once. */
    private final class Overlap implements ParallelMoves.Watcher {

        private final AtomicInteger moves = new AtomicInteger();
        private final AtomicInteger mostMoves = new AtomicInteger();
        private final AtomicInteger mostCutovers = new AtomicInteger();
        private final Queue<String> limits = new ConcurrentLinkedQueue<>();

        private static void up(AtomicInteger now, AtomicInteger most) {
            int count = now.incrementAndGet();
            most.accumulateAndGet(count, Math::max);
        }

        @Override
        public MoveListener wanted(MoveRequest move, long bytes) {
            return new MoveListener() {
                @Override
                public void reached(MoveStep step) {
                    if (step == MoveStep.ARMED) { // It was recorded in its turn, in which the record ends, too.
                        mostCutovers.accumulateAndGet(cutovers(), Math::max);
                    }
                }
            };
        }

        @Override
        public void limited(String found) {
            limits.add(found);
        }

        @Override
        public void begun(MoveRequest request, MoveStatus status) {
            up(moves, mostMoves);
        }

        @Override
        public void ended(Move move, Duration took) {
            moves.decrementAndGet();
        }
    }

    private int cutovers() {
        try {
            return (int) shards.catalogNumber(
                    "SELECT count(*) FROM shardflake_catalog.move_shard WHERE phase = 'cutting over'");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private ParallelMoves moves(int parallel, ParallelMoves.Watcher watcher) {
        return new ParallelMoves(
                shards.mover(MoveSettings.DEFAULT, MoveListener.NONE), parallel, "a test", false, watcher);
    }

    @Test
    void aServerIsDrainedOntoOthersAtOnceAndShardsGoRoundInACircle() throws Exception {
        try (ShardRouter router = shards.router().build()) {
            AccountLoad load = AccountLoad.start(router, ShardSet.range(0, SHARDS - 1), 6, 25);
            try {
                load.awaitMore(300);
                Overlap overlap = new Overlap();
                int moved = plan.run(TARGETS, overlap);

                assertThat(moved).isEqualTo(SHARDS);
                assertThat(overlap.mostMoves).hasValue(TARGETS);
                assertThat(overlap.mostCutovers).hasValue(1);
                assertThat(plan.on("db1").isEmpty()).isTrue();

                Overlap circle = new Overlap();
                moves(TARGETS, circle)
                        .run(List.of(
                                new MoveRequest("db2", "db3", plan.on("db2")),
                                new MoveRequest("db3", "db4", plan.on("db3")),
                                new MoveRequest("db4", "db2", plan.on("db4"))));
                assertThat(circle.mostMoves).hasValue(TARGETS);
                load.awaitMore(300);
            } finally {
                load.close();
            }
            assertThat(load.failures()).isEmpty();
            assertThat(load.compare(shards)).isEmpty();
        }
        plan.assertNothingIsLeft();
        assertThat(shards.catalogNumber("SELECT count(*) FROM shardflake_catalog.shard WHERE epoch <> 3"))
                .isZero();
        assertThat(
                        shards.catalogNumber(
                                "SELECT count(*) FROM shardflake_catalog.history WHERE change IN ('move started', 'move completed')"))
                .isEqualTo(4 * TARGETS);
        assertThat(
                        shards.catalogNumber(
                                "SELECT count(*) FROM (SELECT version FROM shardflake_catalog.history WHERE change = 'shard placed' AND from_server IS NOT NULL GROUP BY version HAVING count(*) > 1) AS twice"))
                .isZero();
    }

    @Test
    void aPlanThatWasKilledGoesOnWithAllItsMoves() throws Exception {
        plan.survives(() -> {
            plan.kill(MoveStep.SWITCHED, 3);
            plan.run(TARGETS, ParallelMoves.Watcher.NONE);
        });
        assertThat(plan.on("db1").isEmpty()).isTrue();
        plan.assertNothingIsLeft();
    }

    @Test
    void oneMoveFailsAndTheOthersGoOnToTheirEnds() throws Exception {
        PostgresServer failing = shards.database("db3").server();
        MoveSettings impatient = new MoveSettings(
                2,
                1 << 30,
                0,
                0,
                Duration.ofSeconds(10),
                Duration.ofMillis(90),
                Duration.ofMillis(30),
                Duration.ofSeconds(20), // The others wait as long, for what takes them a moment.
                true);
        AtomicBoolean armed = new AtomicBoolean(true);
        ParallelMoves.Watcher killer = new ParallelMoves.Watcher() {
            @Override
            public MoveListener wanted(MoveRequest move, long bytes) {
                return new MoveListener() {
                    @Override
                    public void reached(MoveStep step) {
                        if (move.target().equals("db3") && step == MoveStep.SLOT_CREATED && armed.getAndSet(false)) {
                            CompletableFuture.runAsync(failing::crash).join();
                        }
                    }
                };
            }
        };
        List<MoveRequest> requests = List.of(
                new MoveRequest("db1", "db3", ShardSet.range(0, 2)),
                new MoveRequest("db1", "db2", ShardSet.range(3, 4)),
                new MoveRequest("db1", "db4", ShardSet.range(5, 6)));
        try {
            assertThatThrownBy(() -> new ParallelMoves(
                                    shards.mover(impatient, MoveListener.NONE), 3, "a test", false, killer)
                            .run(requests))
                    .isInstanceOfSatisfying(SomeMovesFailedException.class, e -> {
                        assertThat(e.kind()).isEqualTo(Kind.PARTLY_DONE);
                        assertThat(e.failures()).containsOnlyKeys(requests.get(0));
                        assertThat(e)
                                .hasMessageStartingWith(
                                        "1 of 3 moves failed, 2 are done, and 0 were not started: from db1 to db3: ");
                    });

            assertThat(plan.on("db2").size() + plan.on("db4").size()).isEqualTo(4);
            assertThat(plan.on("db1").size()).isEqualTo(SHARDS - 4);

            // The server comes back when the same command has met that it is down.
            AtomicBoolean isDown = new AtomicBoolean(true);
            ParallelMoves.Watcher starter = new ParallelMoves.Watcher() {
                @Override
                public MoveListener wanted(MoveRequest move, long bytes) {
                    return new MoveListener() {
                        @Override
                        public void interrupted(String problem) {
                            if (isDown.getAndSet(false)) {
                                CompletableFuture.runAsync(failing::start).join();
                            }
                        }
                    };
                }
            };
            moves(3, starter).run(List.of(requests.get(0)));
            assertThat(isDown).isFalse();
        } finally {
            failing.start();
        }
        assertThat(plan.on("db3")).isEqualTo(ShardSet.range(0, 2));
        plan.assertNothingIsLeft();
    }

    @Test
    void nothingBeginsIfOneOfThemCannot() throws Exception {
        shards.execute("db3", "CREATE SCHEMA shard_0001");

        assertThatThrownBy(() -> moves(2, ParallelMoves.Watcher.NONE)
                        .run(List.of(
                                new MoveRequest("db1", "db2", ShardSet.of(0)),
                                new MoveRequest("db1", "db3", ShardSet.of(1)))))
                .isInstanceOf(MoveRefusedException.class)
                .hasMessageStartingWith(
                        "no move was started, since the one from db1 to db3 cannot be: check target-free failed");

        assertThat(shards.catalogNumber(
                        "SELECT count(*) FROM shardflake_catalog.history WHERE change = 'move started'"))
                .isZero();
    }

    /** Slots that someone else has leave room for two. */
    @Test
    void asManyMovesRunAsTheServersHaveRoomFor() throws Exception {
        String slots = "pg_replication_slots WHERE slot_name LIKE 'room%'";
        shards.execute(
                "db1",
                "SELECT pg_create_physical_replication_slot('room' || n) FROM generate_series(1, current_setting('max_replication_slots')::integer - 2 - (SELECT count(*) FROM pg_replication_slots)) n");
        try {
            Overlap overlap = new Overlap();
            moves(3, overlap)
                    .run(IntStream.rangeClosed(2, TARGETS + 1)
                            .mapToObj(target -> new MoveRequest("db1", "db" + target, ShardSet.of(target)))
                            .toList());

            assertThat(overlap.limits)
                    .singleElement()
                    .satisfies(
                            found -> assertThat(found)
                                    .startsWith(
                                            "db1 has room for 2 concurrent moves, not 3: of max_replication_slots, which is 64, 62 are in use"));
            assertThat(overlap.mostMoves).hasValue(2);
            assertThat(plan.on("db1").size()).isEqualTo(SHARDS - TARGETS);
        } finally {
            shards.execute("db1", "SELECT pg_drop_replication_slot(slot_name) FROM " + slots);
        }
    }

    /** The rest of the plan needs the slot that the interrupted move has, and gets it when that is done. */
    @Test
    void aPlanGoesOnThoughItsInterruptedMoveHasTheLastSlot() throws Exception {
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        RebalancePlan.Move first = plan.plan().moves().get(0);
        Move begun = mover.beginOrResume(first.from(), first.to(), first.shards(), "interrupted");
        mover.follow(begun.id());

        assertThatThrownBy(() -> moves(2, ParallelMoves.Watcher.NONE)
                        .run(List.of(new MoveRequest("db1", first.to(), plan.on("db1")))))
                .isInstanceOf(MoveRefusedException.class)
                .hasMessage(
                        "no move was started: shards to move from db1 to %s are in move 1 from db1 to %s already: %s"
                                .formatted(first.to(), first.to(), first.shards()));

        shards.execute(
                "db1",
                "SELECT pg_create_physical_replication_slot('room' || n) FROM generate_series(1, current_setting('max_replication_slots')::integer - (SELECT count(*) FROM pg_replication_slots)) n");
        try {
            assertThat(plan.run(TARGETS, ParallelMoves.Watcher.NONE)).isEqualTo(SHARDS);
        } finally {
            shards.execute(
                    "db1",
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name LIKE 'room%'");
        }
        plan.assertNothingIsLeft();
    }

    @Test
    void anErrorInOneMoveLeavesTheOthersAlone() throws Exception {
        ParallelMoves.Watcher shortOfMemory = new ParallelMoves.Watcher() {
            @Override
            public void begun(MoveRequest request, MoveStatus status) {
                if (request.target().equals("db3")) {
                    throw new OutOfMemoryError("a test");
                }
            }
        };

        assertThatThrownBy(() -> moves(2, shortOfMemory)
                        .run(List.of(
                                new MoveRequest("db1", "db3", ShardSet.of(0)),
                                new MoveRequest("db1", "db2", ShardSet.of(1)))))
                .isInstanceOf(SomeMovesFailedException.class)
                .hasMessage(
                        "1 of 2 moves failed, 1 are done, and 0 were not started: from db1 to db3: failed with java.lang.OutOfMemoryError: a test");
        assertThat(plan.on("db2")).isEqualTo(ShardSet.of(1));
    }

    /** As by commands that know nothing of each other. */
    @Test
    void movesBegunByHandRunSideBySide() throws Exception {
        List<CompletableFuture<Move>> all = new ArrayList<>();
        for (int target = 2; target <= TARGETS + 1; target++) {
            String server = "db" + target;
            ShardSet its = ShardSet.of(target, target + 3);
            all.add(CompletableFuture.supplyAsync(() -> {
                Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
                return mover.carryOut(mover.beginOrResume("db1", server, its, "by hand"), false);
            }));
        }
        for (CompletableFuture<Move> move : all) {
            move.get(2, TimeUnit.MINUTES);
        }
        for (int target = 2; target <= TARGETS + 1; target++) {
            assertThat(plan.on("db" + target)).isEqualTo(ShardSet.of(target, target + 3));
        }
        plan.assertNothingIsLeft();
    }
}
