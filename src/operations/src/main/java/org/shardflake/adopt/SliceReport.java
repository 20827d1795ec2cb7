/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.time.Duration;

/**
 * A shard that has left the old database, or has come back.
 *
 * @param pause for how long its writers waited at most: from the request for its lock until it had left, or from its fence until it had come back
 * @param attempts how often its lock was asked for; each time, writers that had begun were waited for
 */
public record SliceReport(int shard, Duration pause, int attempts) {}
