/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

/** A listener for cutovers, for anything except a router that follows the shard map. Must neither throw nor wait for long. */
public interface CutoverFollower {

    /** Does nothing. */
    CutoverFollower NONE = new CutoverFollower() {};

    /** Called when a shard has been cut over. */
    default void moved() {}

    /** Called when no more cutovers are coming for now. */
    default void settled() {}
}
