/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

/**
 * A shard as a server has it.
 *
 * @param tables how many tables it has
 * @param unguarded how many of them have no fence
 * @param closed how many refuse writes
 * @param open how many have a fence and take writes
 * @param odd how many have a fence that is down and whose trigger is enabled, or goes up when it is, as of an earlier library
 */
record ShardState(int shard, int tables, int unguarded, int closed, int open, int odd) {

    /** Whether some table takes writes. */
    boolean takesWrites() {
        return open + unguarded > 0;
    }

    /** Whether some table refuses them. */
    boolean refusesWrites() {
        return closed > 0;
    }
}
