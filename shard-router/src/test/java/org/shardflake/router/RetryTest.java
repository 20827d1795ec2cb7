/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.Sharding;
import org.shardflake.router.internal.map.MapSource;

class RetryTest {

    private static final Server DB1 = new Server("db1", "postgresql://app@db1/app", Map.of());
    private static final Server DB2 = new Server("db2", "postgresql://app@db2/app", Map.of());

    private final RecordedWaits maps = new RecordedWaits();
    private final Retry retry = new Retry(RetryPolicy.DEFAULT, maps, new RouterListener() {});

    @Test
    void waitsTwiceAsLongEachTimeThatAServerRefuses() {
        refuse(8);

        assertThat(maps.waits).containsExactly(2L, 4L, 8L, 16L, 32L, 64L, 100L, 100L);
    }

    @Test
    void waitsBrieflyAgainForTheServerThatTheShardHasMovedTo() {
        refuse(6);
        maps.place(DB2);
        maps.waits.clear();

        refuse(3);

        assertThat(maps.waits).containsExactly(2L, 4L, 8L);
    }

    @Test
    void doesNotWaitWhenTheShardHasMovedMeanwhile() {
        ShardMap tried = maps.map();
        maps.place(DB2);

        retry.again(new SQLException("fenced", "SF001"), tried.placement(0), tried.version(), () -> false);

        assertThat(maps.waits).isEmpty();
    }

    private void refuse(int times) {
        for (int i = 0; i < times; i++) {
            ShardMap map = maps.map();
            assertThat(retry.again(new SQLException("fenced", "SF001"), map.placement(0), map.version(), () -> false))
                    .isTrue();
        }
    }

    private static final class RecordedWaits implements MapSource {

        private final List<Long> waits = new ArrayList<>();
        private long version;
        private ShardMap map = place(DB1);

        private ShardMap place(Server server) {
            version++;
            map = ShardMap.of(
                    version,
                    new Sharding(1),
                    IdLayout.DEFAULT,
                    List.of(DB1, DB2),
                    shard -> new ShardPlacement(shard, server, version));
            return map;
        }

        @Override
        public ShardMap map() {
            return map;
        }

        @Override
        public void refresh() {}

        @Override
        public void hint() {}

        @Override
        public void awaitNewerThan(long known, Duration timeout) {
            waits.add(timeout.toMillis());
        }

        @Override
        public Duration age() {
            return Duration.ZERO;
        }

        @Override
        public Optional<String> problem() {
            return Optional.empty();
        }

        @Override
        public void close() {}
    }
}
