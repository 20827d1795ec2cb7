/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Measurements in rounds: in each round every candidate has one turn, so that a slow phase of the machine affects all of them. Not thread-safe. */
public final class Rounds {

    private final Map<String, List<Double>> measured = new LinkedHashMap<>();

    /** One turn of one candidate. */
    @FunctionalInterface
    public interface Measurement<E extends Exception> {

        /** Does the work and returns its cost, or the amount of work done. */
        double measure() throws E;
    }

    /** Measures all candidates in interleaved rounds, each round beginning with another one; warm-up rounds are thrown away. */
    public static <E extends Exception> Rounds run(
            int warmUps, int rounds, Map<String, ? extends Measurement<E>> candidates) throws E {
        Rounds measured = new Rounds();
        List<Map.Entry<String, ? extends Measurement<E>>> entries = new ArrayList<>(candidates.entrySet());
        entries.forEach(entry -> measured.measured.put(entry.getKey(), new ArrayList<>()));
        for (int round = -warmUps; round < rounds; round++) {
            for (Map.Entry<String, ? extends Measurement<E>> entry : order(entries, round)) {
                double value = entry.getValue().measure();
                if (round >= 0) {
                    measured.add(entry.getKey(), value);
                }
            }
        }
        return measured;
    }

    /** The candidates in the order of their turns in a round: rotated by one in each. */
    public static <T> List<T> order(List<T> candidates, int round) {
        List<T> order = new ArrayList<>(candidates);
        Collections.rotate(order, -round);
        return order;
    }

    /** Keeps what a candidate measured in its next round. */
    public void add(String candidate, double value) {
        measured.computeIfAbsent(candidate, name -> new ArrayList<>()).add(value);
    }

    /** The candidates in the order in which they were first seen. */
    public Set<String> candidates() {
        return Collections.unmodifiableSet(measured.keySet());
    }

    /**
     * The measured values of a candidate.
     *
     * @throws IllegalArgumentException if it was never measured
     */
    public Interval of(String candidate) {
        return Interval.of(values(candidate));
    }

    /** A candidate divided by another, round by round: what slowed down a whole round cancels out. */
    public Interval ratio(String candidate, String base) {
        List<Double> values = values(candidate);
        List<Double> bases = values(base);
        if (values.size() != bases.size()) {
            throw new IllegalArgumentException(
                    "%s has %d rounds, %s has %d".formatted(candidate, values.size(), base, bases.size()));
        }
        List<Double> ratios = new ArrayList<>();
        for (int round = 0; round < values.size(); round++) {
            ratios.add(values.get(round) / bases.get(round));
        }
        return Interval.of(ratios);
    }

    private List<Double> values(String candidate) {
        List<Double> values = measured.get(candidate);
        if (values == null) {
            throw new IllegalArgumentException(
                    "no candidate %s, there are %s".formatted(candidate, String.join(", ", measured.keySet())));
        }
        return values;
    }
}
