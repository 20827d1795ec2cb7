/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.ArrayList;
import java.util.List;
import org.shardflake.benchmarks.report.Spread;
import org.shardflake.benchmarks.report.Target;

/**
 * What was measured.
 *
 * @param start of the command alone, which every time contains, in seconds
 */
record Results(Spread start, DumpComparison dumps, CutoverPauses pauses) {

    /** What was set out to be reached. */
    List<Target> targets() {
        List<Target> targets = new ArrayList<>();
        if (dumps.notMeasured().isEmpty()) {
            targets.add(Target.atLeast(
                    "whole move, times as fast as dump and restore",
                    1,
                    "",
                    dumps.seconds().ratio(DumpComparison.DUMP, DumpComparison.MOVE)));
        }
        targets.add(atMost("write pause of a cutover, p50", 30, pauses.pauses().percentile(50)));
        targets.add(atMost("write pause of a cutover, p99", 100, pauses.pauses().percentile(99)));
        targets.add(Target.none("transactions that failed", pauses.failed()));
        targets.add(Target.none("acknowledged writes that are lost", pauses.lost()));
        targets.add(Target.none("writes that are there twice", pauses.doubled()));
        return targets;
    }

    private static Target atMost(String what, double most, double millis) {
        return Target.atMost(what, most, "ms", Spread.of(List.of(millis)));
    }
}
