/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.move.parallel.ParallelMoves;
import org.shardflake.rebalance.PlanRun;
import org.shardflake.rebalance.RebalanceBy;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.rebalance.RebalancePlanFile;
import org.shardflake.rebalance.RebalancePlanner;
import org.shardflake.rebalance.RebalanceSettings;
import org.shardflake.router.ShardRouter;

/** A plan to drain the first server, carried out by this process, and by others that are killed, under load. */
final class DrainPlan {

    private final AccountShards shards;
    private final Path file;

    DrainPlan(AccountShards shards, Path directory) throws Exception {
        this.shards = shards;
        this.file = directory.resolve("plan.yaml");
        RebalancePlanFile.write(drainOfFirst(), file);
    }

    private RebalancePlan drainOfFirst() {
        return RebalancePlanner.plan(
                shards.catalog().load(),
                shard -> 0,
                new RebalanceSettings(
                        RebalanceBy.COUNT, ShardSet.of(), ShardSet.of(), Set.of("db1"), Set.of(), 8192, 10, 50));
    }

    RebalancePlan plan() throws Exception {
        return RebalancePlanFile.read(file);
    }

    /** Carries out what is left, and returns how many shards were moved. */
    int run(int parallel, ParallelMoves.Watcher watcher) throws Exception {
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        return new PlanRun(plan(), shards.catalog()).run(new ParallelMoves(mover, parallel, "a test", false, watcher));
    }

    ShardSet on(String server) {
        ShardMap map = shards.catalog().load();
        return map.shards(map.server(server));
    }

    void assertNothingIsLeft() throws Exception {
        for (Server server : shards.catalog().load().servers()) {
            assertThat(shards.leftovers(server.name())).as(server.name()).isZero();
        }
        assertThat(shards.catalogNumber("SELECT count(*) FROM shardflake_catalog.move"))
                .isZero();
    }

    interface Deaths {
        void happen() throws Exception;
    }

    void survives(Deaths deaths) throws Exception {
        int loaded = shards.catalog().load().sharding().shardCount();
        try (ShardRouter router = shards.router().build();
                AccountLoad load = AccountLoad.startWithOutages(router, ShardSet.range(0, loaded - 1), 6, 25)) {
            load.awaitMore(200);
            deaths.happen();
            load.awaitMore(200);
            load.close();
            assertThat(load.failures()).isEmpty();
            assertThat(load.compare(shards)).isEmpty();
        }
    }

    /** Runs the plan in another process, and kills it when a step has been done so often. */
    void kill(MoveStep step, int times) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                PlanProcess.class.getName(),
                shards.catalogDatabase().uri(),
                file.toString(),
                step.name(),
                Integer.toString(times)));
        shards.catalog()
                .load()
                .servers()
                .forEach(server -> command.add("%s=%s"
                        .formatted(server.name(), shards.database(server.name()).uri())));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader out = process.inputReader();
        String line = out.readLine();
        process.destroyForcibly();
        assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
        assertThat(line).as("%s, %s times", step, times).isEqualTo("reached");
    }
}
