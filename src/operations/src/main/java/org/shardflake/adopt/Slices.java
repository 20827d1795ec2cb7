/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import org.shardflake.ShardSet;

/**
 * The states of the shards that leave a database one by one, as that database records them.
 *
 * @param remaining the shards that are in the old database; includes those that have come back
 * @param over the shards that have left it
 * @param back the shards that have left it and come back
 * @param closed the shards that have left it while their servers refuse writes: a command brings them back, or was about to
 */
public record Slices(ShardSet remaining, ShardSet over, ShardSet back, ShardSet closed) {}
