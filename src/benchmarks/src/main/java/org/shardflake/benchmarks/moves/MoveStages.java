/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveStep;
import org.shardflake.move.Mover;

/** The times at which a move in this process reached its stages. */
final class MoveStages {

    private static final Map<MoveStep, String> ENDS = ends();

    private final Map<MoveStep, Long> last = new EnumMap<>(MoveStep.class);

    private MoveStages() {}

    private static Map<MoveStep, String> ends() {
        Map<MoveStep, String> ends = new LinkedHashMap<>();
        ends.put(MoveStep.RECORDED, "checks");
        ends.put(MoveStep.PUBLISHED, "schema and publications");
        ends.put(MoveStep.SLOT_CREATED, "replication slot and snapshot");
        ends.put(MoveStep.SHARD_COPIED, "copy: rows, indexes, foreign keys, `ANALYZE`");
        ends.put(MoveStep.SUBSCRIBED, "subscriptions");
        ends.put(MoveStep.REHEARSED, "catching up, in both directions");
        ends.put(MoveStep.COMPARED, "cutovers, beside which both copies are compared");
        ends.put(MoveStep.COMPARED_AGAIN, "last comparison");
        ends.put(MoveStep.CLEANED, "clean-up");
        return ends;
    }

    /** Moves shards, and returns the seconds that each stage took, in their order. */
    static Map<String, Double> measure(BenchmarkInstallation installation, ShardSet shards, String target) {
        MoveStages stages = new MoveStages();
        Mover mover = installation.mover(new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                stages.reached(step);
            }
        });
        long before = System.nanoTime();
        Move move = mover.beginOrResume(DumpComparison.source(target), target, shards, "");
        mover.carryOut(move, false);
        Map<String, Double> seconds = new LinkedHashMap<>();
        for (Map.Entry<MoveStep, String> end : ENDS.entrySet()) {
            long at = stages.last(end.getKey());
            seconds.put(end.getValue(), (at - before) / 1e9);
            before = at;
        }
        return seconds;
    }

    private synchronized void reached(MoveStep step) {
        last.put(step, System.nanoTime());
    }

    private synchronized long last(MoveStep step) {
        Long at = last.get(step);
        if (at == null) {
            throw new IllegalStateException("the move did not say: " + step);
        }
        return at;
    }
}
