/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.router.ShardRouter;

class LayoutTest {

    // Nothing listens there.
    private static final Server SERVER = new Server("db1", "postgresql://app@127.0.0.1:1/app");
    private static final Layout LAYOUT =
            new Layout(List.of(SERVER, new Server("db2", "postgresql://app@127.0.0.1:2/app")), 5, 3);

    @Test
    void givesEveryCandidateTheRoutersSettings() {
        HikariConfig theirs = new HikariConfig();
        ShardMap map = ShardMap.initial(new Sharding(1), IdLayout.DEFAULT, List.of(SERVER), Spread.ROUND_ROBIN);
        // Once the settings are known, there is no need to wait for the connection.
        try (ShardRouter router = ShardRouter.builder()
                .map(map)
                .poolSize(LAYOUT.poolSize())
                .customizePools((server, pool) -> {
                    pool.copyStateTo(theirs);
                    pool.setConnectionTimeout(250);
                })
                .build()) {
            assertThatThrownBy(() -> router.connection(ShardKey.shard(0))).isInstanceOf(RuntimeException.class);
        }

        assertThat(LAYOUT.poolConfig(SERVER))
                .usingRecursiveComparison()
                .comparingOnlyFields(
                        "maxPoolSize",
                        "minIdle",
                        "connectionTimeout",
                        "validationTimeout",
                        "idleTimeout",
                        "maxLifetime",
                        "keepaliveTime",
                        "initializationFailTimeout",
                        "isAutoCommit",
                        "isReadOnly")
                .isEqualTo(theirs);
        PGSimpleDataSource source = (PGSimpleDataSource) theirs.getDataSource();
        // The pool sets the driver's time to log in, from its own.
        assertThat(LAYOUT.poolConfig(SERVER).getJdbcUrl())
                .isEqualTo(source.getURL().replaceFirst("&loginTimeout=\\d+", ""));
        assertThat(LAYOUT.poolConfig(SERVER).getUsername()).isEqualTo(source.getUser());
    }

    @Test
    void dealsShardsToServersInTurn() {
        assertThat(LAYOUT.shardsOf(0)).containsExactly(0, 2, 4);
        assertThat(LAYOUT.shardsOf(1)).containsExactly(1, 3);
    }

    @Test
    void tellsShardingSphereEachTableOnce() {
        assertThat(ShardingSphere.yaml(LAYOUT))
                .contains("actualDataNodes: ds_0.photo_${(0..2).collect{it * 2 + 0}},"
                        + "ds_1.photo_${(0..1).collect{it * 2 + 1}}");
    }
}
