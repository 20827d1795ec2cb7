/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Spread;
import org.shardflake.benchmarks.report.Target;

/** How long the deployments took. Not thread-safe. */
final class Results {

    private static final String DEPLOY = "schema deploy";
    private static final String LOOP = "loop";

    /** What a deployment is to be, beside the loop. */
    private static final double TIMES_AS_FAST = 8;

    private final Map<Step, Rounds> seconds = new EnumMap<>(Step.class);

    /** Keeps what one round took: the deployment, and the loop over as many schemas. */
    void add(Step step, double deploy, double loop) {
        Rounds rounds = seconds.computeIfAbsent(step, none -> new Rounds());
        rounds.add(DEPLOY, deploy);
        rounds.add(LOOP, loop);
    }

    private Rounds of(Step step) {
        Rounds rounds = seconds.get(step);
        if (rounds == null) {
            throw new IllegalArgumentException(step.label() + " was not measured");
        }
        return rounds;
    }

    /** Seconds of {@code schema deploy}. */
    Spread deploy(Step step) {
        return of(step).of(DEPLOY);
    }

    /** Seconds of the loop, reckoned from its sample. */
    Spread loop(Step step) {
        return of(step).of(LOOP);
    }

    /** How many times as fast a deployment is. */
    Spread times(Step step) {
        return of(step).ratio(LOOP, DEPLOY);
    }

    /** What was set out to be reached. */
    List<Target> targets(int shards) {
        List<Target> targets = new ArrayList<>();
        for (Step step : Step.values()) {
            String what = "%s, %,d shards".formatted(step.label(), shards);
            targets.add(Target.atMost(what, step.goalSeconds(), "s", deploy(step)));
            targets.add(
                    Target.atLeast(what + ", times as fast as a loop of Liquibase", TIMES_AS_FAST, "", times(step)));
        }
        return targets;
    }
}
