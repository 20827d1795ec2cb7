/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.health;

import java.util.List;

/**
 * The health of a router's map and servers.
 *
 * @param map the state of the map and of its catalog
 * @param servers the health of every server of the map
 */
public record RouterHealth(MapHealth map, List<ServerHealth> servers) {

    /** Whether the catalog and all servers answer. */
    public boolean isHealthy() {
        return map.problem().isEmpty()
                && servers.stream().allMatch(server -> server.problem().isEmpty());
    }
}
