/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.doctor.Doctor;
import org.shardflake.install.Installation;
import org.shardflake.move.parallel.MoveRequest;
import org.shardflake.move.parallel.ParallelMoves;
import org.shardflake.router.ShardRouter;

/** A server drained onto five others, under load. */
@Tag("full")
class DrainOntoFiveIT {

    private static final int TARGETS = 5;
    private static final int SHARDS = 40;

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

    @Test
    void aDrainOntoFiveServersSurvivesBeingKilledAgainAndAgain() throws Exception {
        plan.survives(() -> {
            plan.kill(MoveStep.PUBLISHED, 3);
            plan.kill(MoveStep.SHARD_COPIED, 12);
            plan.kill(MoveStep.FENCED, 7);
            plan.kill(MoveStep.SWITCHED, 9);
            plan.kill(MoveStep.SEALED, 2);
            plan.kill(MoveStep.SHARD_DROPPED, 5);
            plan.run(TARGETS, ParallelMoves.Watcher.NONE);
        });
        assertThat(plan.on("db1").isEmpty()).isTrue();
        plan.assertNothingIsLeft();
        Installation installation = new Installation(shards.catalogUrl(), server -> shards.url(server.name()));
        assertThat(new Doctor(
                                shards.catalogUrl(),
                                installation.urls(shards.catalog().load()),
                                shards.mover(MoveSettings.DEFAULT, MoveListener.NONE))
                        .examine())
                .isEmpty();
    }

    @Test
    void aDrainOntoFiveServersUnderLoadLosesNothingAndFailsNothing() throws Exception {
        Queue<String> givenUp = new ConcurrentLinkedQueue<>();
        try (ShardRouter router = shards.router().build()) {
            AccountLoad load = AccountLoad.start(router, ShardSet.range(0, SHARDS - 1), 16, 25);
            try {
                load.awaitMore(1000);
                plan.run(TARGETS, new ParallelMoves.Watcher() {
                    @Override
                    public MoveListener wanted(MoveRequest move, long bytes) {
                        return new MoveListener() {
                            @Override
                            public void attemptFailed(int shard, String reason) {
                                givenUp.add(reason);
                            }
                        };
                    }
                });
                load.awaitMore(1000);
                System.out.printf("%s attempts given up: %s%n", givenUp.size(), givenUp);
            } finally {
                load.close();
            }
            assertThat(load.failures()).isEmpty();
            assertThat(load.compare(shards)).isEmpty();
        }
        assertThat(plan.on("db1").isEmpty()).isTrue();
        plan.assertNothingIsLeft();
    }
}
