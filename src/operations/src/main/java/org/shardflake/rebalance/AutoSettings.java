/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import static org.apiguardian.api.API.Status.EXPERIMENTAL;

import java.time.Duration;
import org.apiguardian.api.API;

/**
 * The limits of an {@link AutoRebalance}.
 *
 * @param plan the constraints of each round's plan
 * @param over how long a round measures before it plans
 * @param rest how long a shard stays where it is after a move, whatever its server's load
 * @param watch how long commits are watched after the moves of a round
 * @param slower percent: moves are turned back if commits on their target take this much longer than before
 * @param budget how many shards may change servers within an hour, moved by whomever
 */
@API(status = EXPERIMENTAL)
public record AutoSettings(
        RebalanceSettings plan, Duration over, Duration rest, Duration watch, int slower, int budget) {

    public static final int DEFAULT_SLOWER = 100;
    public static final int DEFAULT_BUDGET = 20;

    public AutoSettings {
        if (!plan.drained().isEmpty()) {
            throw new IllegalArgumentException("servers %s are to be drained, which rounds do not do"
                    .formatted(String.join(", ", plan.drained())));
        }
        atLeastOne("over (in milliseconds)", over.toMillis());
        atLeastOne("watch (in milliseconds)", watch.toMillis());
        atLeastOne("slower", slower);
        atLeastOne("budget", budget);
    }

    private static void atLeastOne(String name, long value) {
        if (value < 1) {
            throw new IllegalArgumentException("%s is %s, allowed: 1 or more".formatted(name, value));
        }
    }
}
