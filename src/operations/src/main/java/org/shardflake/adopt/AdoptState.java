/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

/** The stage of an adoption. */
public enum AdoptState {
    /** Rows are being copied in the order of their primary key; changes are recorded. */
    COPYING,
    /** All rows are copied; changes are recorded, and brought over by each run. */
    FOLLOWING,
    /** The table refuses writes; the last changes are brought over and everything is compared. */
    CLOSED,
    /** All rows are in the shards, which now accept the writes. */
    FINISHED,
    /** All traces of the adoption are gone. */
    CANCELLED
}
