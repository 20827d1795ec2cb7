/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.health;

import java.util.List;
import org.shardflake.ShardMap;

/** The state of a router, as each listener can read it: its map and its pools. Thread-safe. */
public interface RouterState {

    /** The map that the router currently uses. */
    ShardMap map();

    /** The state of the map, without connecting to anything. */
    MapHealth mapHealth();

    /** The state of the pools, without connecting to anything. */
    List<PoolStatus> pools();
}
