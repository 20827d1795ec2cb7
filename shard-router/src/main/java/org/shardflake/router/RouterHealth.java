/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.List;

/**
 * How a router's map and servers are.
 *
 * @param map the map and the catalog it comes from
 * @param servers every server of the map
 */
public record RouterHealth(MapHealth map, List<ServerHealth> servers) {

    /** Whether the catalog and all servers answer. */
    public boolean isHealthy() {
        return map.problem().isEmpty()
                && servers.stream().allMatch(server -> server.problem().isEmpty());
    }
}
