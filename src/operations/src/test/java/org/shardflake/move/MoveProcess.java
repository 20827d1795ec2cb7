/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.concurrent.CountDownLatch;
import org.shardflake.ShardSet;
import org.shardflake.server.ServerUrl;

/**
 * A move in a process of its own, to be killed or interrupted: catalog, names and URLs of both servers, shards, the step to stop at, and
 * whether to cancel in the end.
 */
final class MoveProcess {

    private MoveProcess() {}

    public static void main(String[] args) throws Exception {
        String source = args[1];
        String target = args[3];
        MoveStep stop = MoveStep.valueOf(args[6]);
        Mover mover = new Mover(
                ServerUrl.parse(args[0]),
                name -> new MoveServer(name, ServerUrl.parse(name.equals(source) ? args[2] : args[4])),
                MoveSettings.DEFAULT,
                new MoveListener() {
                    @Override
                    public void reached(MoveStep step) {
                        if (step == stop) {
                            sayReachedAndStay();
                        }
                    }
                });
        run(mover, source, target, ShardSet.parse(args[5]), Boolean.parseBoolean(args[7]));
        System.out.println("ended");
    }

    /** What {@code move run} does, or a start and a cancel. */
    static void run(Mover mover, String source, String target, ShardSet shards, boolean cancel) throws Exception {
        Move move = mover.begun(source, target, shards).orElse(null);
        if (move == null) {
            move = mover.create(source, target, shards, "a test");
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

    /** Until Ctrl-C, which lets threads go on while the process ends. */
    private static void sayReachedAndStay() {
        CountDownLatch ending = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(ending::countDown));
        System.out.println("reached"); // Now that Ctrl-C may come.
        try {
            ending.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
