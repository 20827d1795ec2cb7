/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.util.List;
import org.shardflake.benchmarks.report.Spread;
import org.shardflake.benchmarks.report.Target;
import org.shardflake.scheme.SchemeDescription;

/** What Shardflake set out to reach, beside what was measured. */
final class Goals {

    private Goals() {}

    /** All of them. */
    static List<Target> of(Results results) {
        String ours = Candidates.SHARDFLAKE;
        return List.of(
                atMost(
                        "time per id, beside Instagram's published function",
                        0.45,
                        results.microsPerId.ratio(ours, Candidates.INSTAGRAM)),
                atMost("time per id, beside uuidv7()", 1.2, results.microsPerId.ratio(ours, Candidates.UUIDV7)),
                atLeast(
                        "single-row inserts over 1 connection, beside bigserial",
                        0.90,
                        results.rowsPerSecondByOne.ratio(ours, Candidates.SERIAL)),
                atLeast(
                        "single-row inserts over 8 connections, beside bigserial",
                        0.90,
                        results.rowsPerSecondByEight.ratio(ours, Candidates.SERIAL)),
                atMost("size of the index, beside uuidv7()", 0.75, indexRatio(results, ours, Candidates.UUIDV7)),
                Target.none("duplicates in all trials", results.allDuplicates(ours)),
                noOther(results));
    }

    private static Target atMost(String what, double most, Spread measured) {
        return Target.atMost(what, most, "", measured);
    }

    private static Target atLeast(String what, double least, Spread measured) {
        return Target.atLeast(what, least, "", measured);
    }

    private static Spread indexRatio(Results results, String ours, String other) {
        double ratio = Results.get(results.sizes, ours).indexBytesPerRow()
                / Results.get(results.sizes, other).indexBytesPerRow();
        return Spread.of(List.of(ratio));
    }

    private static Target noOther(Results results) {
        List<String> all = results.candidates().stream()
                .filter(candidate -> hasAll(candidate.facts(), results.allDuplicates(candidate.name())))
                .map(Candidate::name)
                .toList();
        return new Target(
                "schemes with 0 duplicates, time order, 8 bytes, the shard inside and no coordinator",
                "Shardflake alone",
                all.isEmpty() ? "none" : String.join(", ", all),
                all.equals(List.of(Candidates.SHARDFLAKE)));
    }

    /** Whether a scheme that made so many duplicates is all that one could wish. */
    static boolean hasAll(SchemeDescription facts, long duplicates) {
        return duplicates == 0
                && facts.timeOrdered()
                && facts.bits() == Long.SIZE
                && facts.shardInside()
                && !facts.coordinator();
    }
}
