/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.shardflake.ShardSet;
import org.shardflake.move.server.MoveServer;
import org.shardflake.server.ServerUrl;

/**
 * A move in a process of its own, to be killed or interrupted: catalog, names and URLs of both servers, shards, the step to stop at, and
 * whether to cancel in the end.
 */
final class MoveProcess {

    private static final CountDownLatch ENDING = new CountDownLatch(1);
    private static final CountDownLatch ENDED = new CountDownLatch(1);

    private MoveProcess() {}

    public static void main(String[] args) throws Exception {
        String source = args[1];
        String target = args[3];
        MoveStep stop = MoveStep.valueOf(args[6]);
        Mover mover = new Mover(
                ServerUrl.parse(args[0]),
                name -> new MoveServer(name, ServerUrl.parse(name.equals(source) ? args[2] : args[4])),
                settings(stop),
                new MoveListener() {
                    @Override
                    public void reached(MoveStep step) {
                        if (step == stop) {
                            sayReachedAndStay();
                        }
                    }
                });
        Runtime.getRuntime().addShutdownHook(new Thread(MoveProcess::endWhenWorkHasEnded));
        try {
            run(mover, source, target, ShardSet.parse(args[5]), Boolean.parseBoolean(args[7]));
        } finally {
            ENDED.countDown();
        }
        System.out.println("ended");
    }

    /** Settings with which a step is reached. */
    static MoveSettings settings(MoveStep step) {
        boolean isOfParts = step == MoveStep.PART_COPIED || step == MoveStep.INDEX_BUILT;
        return isOfParts ? AccountShards.inParts(8192) : MoveSettings.DEFAULT;
    }

    /** What {@code move run} does, or a start and a cancel. */
    static void run(Mover mover, String source, String target, ShardSet shards, boolean cancel) throws Exception {
        Move move = mover.findOpen(source, target, shards).orElse(null);
        if (move == null) {
            move = mover.record(source, target, shards, "a test");
        }
        boolean ending = move.phase() == MovePhase.COMPLETING || move.phase() == MovePhase.CANCELLING;
        if (!ending) {
            mover.follow(move.id());
        }
        if (cancel) {
            mover.cancel(move.id(), Mover.End.BACK);
            return;
        }
        if (!ending) {
            mover.cutOver(move.id(), shards);
        }
        mover.complete(move.id());
    }

    /** Ctrl-C lets threads go on while the process ends, as while another thread finishes a cutover. */
    private static void endWhenWorkHasEnded() {
        ENDING.countDown();
        try {
            ENDED.await(20, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Until Ctrl-C. */
    private static void sayReachedAndStay() {
        System.out.println("reached"); // Now that Ctrl-C may come.
        try {
            ENDING.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
