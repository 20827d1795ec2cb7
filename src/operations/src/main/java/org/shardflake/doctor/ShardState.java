/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

/**
 * A shard's state on a server.
 *
 * @param tables how many tables it has
 * @param unguarded how many of them have no fence
 * @param closed how many refuse writes
 * @param open how many have a fence and take writes
 * @param odd how many have a fence that is down while its trigger is enabled, or that goes up when it is, as with an earlier library
 */
record ShardState(int shard, int tables, int unguarded, int closed, int open, int odd) {

    /** Whether some table takes writes. */
    boolean takesWrites() {
        return open + unguarded > 0;
    }

    /** Whether some table refuses writes. */
    boolean refusesWrites() {
        return closed > 0;
    }
}
