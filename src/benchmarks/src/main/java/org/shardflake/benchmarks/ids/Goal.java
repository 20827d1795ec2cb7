/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.util.List;
import java.util.Locale;
import org.shardflake.benchmarks.report.Spread;
import org.shardflake.scheme.SchemeDescription;

/** What Shardflake set out to reach, what was measured, and whether that is it. */
record Goal(String what, String wanted, String measured, boolean met) {

    /** All of them. */
    static List<Goal> of(Results results) {
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
                noDuplicates(results.allDuplicates(ours)),
                noOther(results));
    }

    static Goal atMost(String what, double most, Spread measured) {
        return new Goal(what, "at most " + ratio(most), ratio(measured), measured.median() <= most);
    }

    static Goal atLeast(String what, double least, Spread measured) {
        return new Goal(what, "at least " + ratio(least), ratio(measured), measured.median() >= least);
    }

    static Goal noDuplicates(long duplicates) {
        return new Goal("duplicates in all trials", "0", Long.toString(duplicates), duplicates == 0);
    }

    private static Spread indexRatio(Results results, String ours, String other) {
        double ratio = Results.get(results.sizes, ours).indexBytesPerRow()
                / Results.get(results.sizes, other).indexBytesPerRow();
        return new Spread(ratio, ratio, ratio);
    }

    private static Goal noOther(Results results) {
        List<String> all = results.candidates().stream()
                .filter(candidate -> hasAll(candidate.facts(), results.allDuplicates(candidate.name())))
                .map(Candidate::name)
                .toList();
        return new Goal(
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

    private static String ratio(Spread spread) {
        return spread.min() == spread.max()
                ? ratio(spread.median())
                : "%s (%s to %s)".formatted(ratio(spread.median()), ratio(spread.min()), ratio(spread.max()));
    }

    private static String ratio(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }

    @Override
    public String toString() {
        return "%s: %s, goal %s: %s".formatted(what, measured, wanted, met ? "met" : "NOT MET");
    }
}
