/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import org.shardflake.move.Move;
import org.shardflake.rebalance.PlanRun;
import org.shardflake.rebalance.RebalancePlan;

/** Carries out a plan for a command. */
final class PlanExecution {

    private PlanExecution() {}

    /** Finishes the plan's interrupted moves, moves what is not on its target yet, and returns how many shards that were. */
    static int run(RebalancePlan plan, MoveMixin moves, WholeMoves whole) throws InterruptedException {
        int finished = whole.finish(move -> plan.moves().stream().anyMatch(planned -> isPartOf(move, planned)));
        return finished
                + new PlanRun(plan, moves.catalog()).run((from, to, shards) -> whole.run(from, to, shards), move -> {});
    }

    private static boolean isPartOf(Move move, RebalancePlan.Move planned) {
        return move.source().equals(planned.from())
                && move.target().equals(planned.to())
                && move.shardSet().stream().allMatch(planned.shards()::contains);
    }
}
