/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/** Moves of many pairs of servers at once, no server in two of them at a time. */
final class Schedule {

    private Schedule() {}

    /** No schedule is shorter: the time that the busiest server needs for its own moves. */
    static double shortest(List<Rebalancing.Move> moves, MoveTime cost, int servers) {
        double[] busy = new double[servers];
        double most = 0;
        for (Rebalancing.Move move : moves) {
            busy[move.from()] += cost.seconds(move);
            busy[move.to()] += cost.seconds(move);
            most = Math.max(most, Math.max(busy[move.from()], busy[move.to()]));
        }
        return most;
    }

    /** Begins each move as soon as both its servers are free, the earlier moves first, and returns when the last one ends. */
    static double simulate(List<Rebalancing.Move> moves, MoveTime cost, int servers) {
        double[] freeAt = new double[servers];
        List<Rebalancing.Move> waiting = new ArrayList<>(moves);
        double now = 0;
        double end = 0;
        while (!waiting.isEmpty()) {
            double next = Double.POSITIVE_INFINITY;
            for (Iterator<Rebalancing.Move> each = waiting.iterator(); each.hasNext(); ) {
                Rebalancing.Move move = each.next();
                double free = Math.max(freeAt[move.from()], freeAt[move.to()]);
                if (free > now) {
                    next = Math.min(next, free);
                    continue;
                }
                double done = now + cost.seconds(move);
                freeAt[move.from()] = done;
                freeAt[move.to()] = done;
                next = Math.min(next, done);
                end = Math.max(end, done);
                each.remove();
            }
            now = next;
        }
        return end;
    }
}
