/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

/** The measure of a server's load. */
public enum RebalanceBy {
    /** The bytes of its shards: tables with their indexes. */
    BYTES,
    /** The number of its shards. */
    COUNT
}
