/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.move.parallel.MoveRequest;
import org.shardflake.move.parallel.ParallelMoves;
import org.shardflake.move.server.MoveServer;
import org.shardflake.rebalance.PlanRun;
import org.shardflake.rebalance.RebalancePlanFile;
import org.shardflake.server.ServerUrl;

/**
 * A plan in a process of its own, to be killed: catalog, the plan's file, the step to stop at when it is reached for the so manieth time,
 * and the servers, as name=url.
 */
final class PlanProcess {

    private PlanProcess() {}

    public static void main(String[] args) throws Exception {
        ServerUrl catalog = ServerUrl.parse(args[0]);
        MoveStep stop = MoveStep.valueOf(args[2]);
        AtomicInteger left = new AtomicInteger(Integer.parseInt(args[3]));
        Map<String, ServerUrl> servers = new HashMap<>();
        for (String server : List.of(args).subList(4, args.length)) {
            String[] nameAndUrl = server.split("=", 2);
            servers.put(nameAndUrl[0], ServerUrl.parse(nameAndUrl[1]));
        }
        MoveListener stopping = new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == stop && left.decrementAndGet() == 0) {
                    System.out.println("reached");
                    stay(); // The other moves go on until the process is killed.
                }
            }
        };
        Mover mover = new Mover(
                catalog,
                name -> new MoveServer(name, Objects.requireNonNull(servers.get(name), name)),
                MoveSettings.DEFAULT,
                MoveListener.NONE);
        ParallelMoves moves =
                new ParallelMoves(mover, servers.size() - 1, "a test", false, new ParallelMoves.Watcher() {
                    @Override
                    public MoveListener wanted(MoveRequest move, long bytes) {
                        return stopping;
                    }
                });
        new PlanRun(RebalancePlanFile.read(Path.of(args[1])), ShardCatalog.at(catalog)).run(moves);
        System.out.println("ended");
    }

    private static void stay() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
