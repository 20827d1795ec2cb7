/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Target;
import org.shardflake.scheme.SchemeDescription;

/** All that was measured, by the names of the candidates. */
final class Results {

    private final List<IdCandidate> candidates;

    final Rounds microsPerId = new Rounds();
    final Rounds rowsPerSecondByOne = new Rounds();
    final Rounds rowsPerSecondByEight = new Rounds();
    final Rounds bulkMicrosPerRow = new Rounds();
    final Rounds bulkWalPerRow = new Rounds();
    final Rounds singleWalPerRow = new Rounds();
    final Rounds idsMadeAgain = new Rounds();
    final Map<String, Size> sizes = new LinkedHashMap<>();
    final Map<String, Duplicates.Outcome> duplicates = new LinkedHashMap<>();
    final Map<String, Duplicates.Outcome> duplicatesNumbered = new LinkedHashMap<>();
    final Map<String, ClockTrials.Outcomes> clocks = new LinkedHashMap<>();
    final Map<String, Order> orders = new LinkedHashMap<>();

    /**
     * The size of the rows of the bulk insert, and the cost of adding 1 % to them.
     *
     * @param leafDensity how full the index's leaves are, in per cent
     * @param laterRows how many were added, in one transaction after a checkpoint
     * @param laterPages how many different pages of the index were written for them
     * @param laterWalPerRow what they took in the log
     */
    record Size(
            int rows,
            int bytesOfId,
            double tableBytes,
            double indexBytes,
            double leafDensity,
            int laterRows,
            double laterPages,
            double laterWalPerRow) {

        double indexBytesPerRow() {
            return indexBytes / rows;
        }
    }

    /** Shares of rows with a greater id than the row before. */
    record Order(double one, double eight) {}

    Results(List<IdCandidate> candidates) {
        this.candidates = candidates;
    }

    List<IdCandidate> candidates() {
        return candidates;
    }

    /** The number of ids that a candidate made twice in all trials. */
    long allDuplicates(String candidate) {
        ClockTrials.Outcomes clock = get(clocks, candidate);
        return get(duplicates, candidate).duplicates()
                + clock.stepBack().duplicates()
                + clock.stand().duplicates();
    }

    static <T> T get(Map<String, T> measured, String candidate) {
        T value = measured.get(candidate);
        if (value == null) {
            throw new IllegalArgumentException(candidate + " was not measured");
        }
        return value;
    }

    /** Shardflake's goals, with the measured values. */
    static final class Goals {

        private Goals() {}

        /** All of them. */
        static List<Target> of(Results results) {
            String ours = Candidates.SHARDFLAKE;
            return List.of(
                    atMost(
                            "time per id, beside Instagram's published function",
                            0.45,
                            results.microsPerId.ratio(ours, Candidates.INSTAGRAM)),
                    atMost("time per id, beside uuidv7()", 1.1, results.microsPerId.ratio(ours, Candidates.UUIDV7)),
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

        private static Target atMost(String what, double most, Interval measured) {
            return Target.atMost(what, most, "", measured);
        }

        private static Target atLeast(String what, double least, Interval measured) {
            return Target.atLeast(what, least, "", measured);
        }

        private static Interval indexRatio(Results results, String ours, String other) {
            double ratio = Results.get(results.sizes, ours).indexBytesPerRow()
                    / Results.get(results.sizes, other).indexBytesPerRow();
            return Interval.of(List.of(ratio));
        }

        private static Target noOther(Results results) {
            List<String> all = results.candidates().stream()
                    .filter(candidate -> hasAll(candidate.facts(), results.allDuplicates(candidate.name())))
                    .map(IdCandidate::name)
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
}
