/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

/** What makes a server loaded. */
public enum RebalanceBy {
    /** The bytes of its shards: tables with their indexes. */
    BYTES,
    /** How many shards it has. */
    COUNT
}
