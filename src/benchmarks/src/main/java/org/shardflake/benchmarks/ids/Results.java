/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.benchmarks.report.Rounds;

/** All that was measured, by the names of the candidates. */
final class Results {

    private final List<Candidate> candidates;

    final Rounds microsPerId = new Rounds();
    final Rounds rowsPerSecondByOne = new Rounds();
    final Rounds rowsPerSecondByEight = new Rounds();
    final Rounds bulkMicrosPerRow = new Rounds();
    final Rounds bulkWalPerRow = new Rounds();
    final Rounds singleWalPerRow = new Rounds();
    final Rounds idsMadeAgain = new Rounds();
    final Map<String, Long> refusedRows = new LinkedHashMap<>();
    final Map<String, Size> sizes = new LinkedHashMap<>();
    final Map<String, Duplicates.Outcome> duplicates = new LinkedHashMap<>();
    final Map<String, Duplicates.Outcome> duplicatesNumbered = new LinkedHashMap<>();
    final Map<String, ClockTrials.Outcome> clocks = new LinkedHashMap<>();
    final Map<String, Order> orders = new LinkedHashMap<>();

    /**
     * What the rows of the bulk insert take, and what it takes to add 1 % to them.
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

    Results(List<Candidate> candidates) {
        this.candidates = candidates;
    }

    List<Candidate> candidates() {
        return candidates;
    }

    /** How many ids a candidate made twice in all trials. */
    long allDuplicates(String candidate) {
        ClockTrials.Outcome clock = get(clocks, candidate);
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
}
