/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.Sharding;
import org.shardflake.Spread;

/** What two readings of the catalog tell, at moments that a test cannot choose on running servers. */
class ObservedStateTest {

    private static final ShardMap MAP = ShardMap.initial(
            new Sharding(4),
            IdLayout.DEFAULT,
            List.of(
                    new Server("db1", "postgresql://db1/app", Map.of()),
                    new Server("db2", "postgresql://db2/app", Map.of())),
            Spread.CONTIGUOUS);

    private static boolean isSettled(ShardMap after) {
        return new ObservedState(MAP, after, List.of(), Set.of(), Map.of(), Map.of(), List.of(), Set.of(), Map.of())
                .isSettled(0);
    }

    private static ShardMap withShard0(String server, long epoch) {
        return ShardMap.of(
                MAP.version() + epoch,
                MAP.sharding(),
                MAP.layout(),
                MAP.servers(),
                shard -> shard == 0 ? new ShardPlacement(0, MAP.server(server), epoch) : MAP.placement(shard));
    }

    @Test
    void aShardThatMovedBetweenTheReadingsIsNotSettled() {
        assertThat(isSettled(MAP)).isTrue();
        assertThat(isSettled(withShard0("db2", 2))).isFalse();
        assertThat(isSettled(withShard0("db1", 3))).as("there and back").isFalse();
    }
}
