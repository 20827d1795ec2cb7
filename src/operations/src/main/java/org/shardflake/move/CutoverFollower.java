/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

/** A listener for cutovers, for whatever follows the shard map other than a router. Must neither throw nor wait for long. */
public interface CutoverFollower {

    /** Does nothing. */
    CutoverFollower NONE = new CutoverFollower() {};

    /** A shard has been cut over. */
    default void moved() {}

    /** Called when no more shards are cut over for now. */
    default void settled() {}
}
