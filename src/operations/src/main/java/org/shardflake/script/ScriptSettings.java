/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.script;

import java.time.Duration;

/**
 * The settings for running statements in many shards.
 *
 * @param run the run's name; what was run once under it in a shard is not run there again. Empty for a digest of the statements
 * @param parallelism how many shards at a time: 1 or more
 * @param pause how long each of these waits between two shards
 * @param keepsGoing whether to go on with other shards when one has failed
 */
public record ScriptSettings(String run, int parallelism, Duration pause, boolean keepsGoing) {

    public ScriptSettings {
        if (parallelism < 1 || parallelism > 100) {
            throw new IllegalArgumentException("parallelism is %s, allowed: 1..100".formatted(parallelism));
        }
    }
}
