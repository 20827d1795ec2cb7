/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import org.shardflake.ShardSet;

/**
 * Shards of one server that a read left out.
 *
 * @param shards those that were not read to their end; rows of them may have been handed over
 * @param cause the reason
 */
public record UnreadShards(String server, ShardSet shards, RuntimeException cause) {}
