/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

/** Is told of cutovers, for what has to follow the shard map and is no router. Must neither throw nor wait for long. */
public interface CutoverFollower {

    /** Does nothing. */
    CutoverFollower NONE = new CutoverFollower() {};

    /** A shard has been cut over. */
    default void moved() {}

    /** No more shards are cut over for now. */
    default void settled() {}
}
