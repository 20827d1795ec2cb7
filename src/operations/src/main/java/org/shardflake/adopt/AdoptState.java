/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

/** How far an adoption is. */
public enum AdoptState {
    /** Rows are being copied in the order of their primary key; what changes is noted. */
    COPYING,
    /** All rows are copied; what changes is noted, and brought over by each run. */
    FOLLOWING,
    /** The table takes no writes; the last changes are brought over and everything is compared. */
    CLOSED,
    /** All rows are in the shards, which take the writes now. */
    FINISHED,
    /** Nothing is left of it. */
    CANCELLED
}
