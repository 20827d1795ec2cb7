/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.shardingsphere.sharding.api.sharding.complex.ComplexKeysShardingValue;
import org.junit.jupiter.api.Test;
import org.shardflake.IdLayout;

class PhotoShardingTest {

    private static final int SHARDS = 2000;
    private static final List<String> ODD_TABLES = List.of("photo_1", "photo_1341", "photo_1999");

    @Test
    void findsTheTableOfAnId() {
        assertThat(tables(ODD_TABLES, "id", id(1341))).containsExactly("photo_1341");
    }

    @Test
    void findsTheTableOfAUid() {
        assertThat(tables(ODD_TABLES, "uid", 1341L + 7 * SHARDS)).containsExactly("photo_1341");
        assertThat(tables(ODD_TABLES, "uid", -1L)).containsExactly("photo_1999");
    }

    @Test
    void leavesOutTheTablesOfOtherServers() {
        assertThat(tables(ODD_TABLES, "id", id(1), id(2), id(1341))).containsExactly("photo_1", "photo_1341");
    }

    @Test
    void passesOverTheIdThatAnInsertLeavesOut() {
        Map<String, Collection<Long>> values = new HashMap<>();
        values.put("id", Arrays.asList((Long) null));
        values.put("uid", List.of(1L));

        assertThat(sharding("photo_", SHARDS)
                        .doSharding(ODD_TABLES, new ComplexKeysShardingValue<>("photo", values, Map.of())))
                .containsExactly("photo_1");
    }

    @Test
    void asksAllTablesWithoutACondition() {
        assertThat(tables(ODD_TABLES, "title")).isEqualTo(ODD_TABLES);
    }

    @Test
    void findsTheServerOfAnId() {
        assertThat(sharding("ds_", 2)
                        .doSharding(
                                List.of("ds_0", "ds_1"),
                                new ComplexKeysShardingValue<>("photo", Map.of("id", List.of(id(1341))), Map.of())))
                .containsExactly("ds_1");
    }

    private static Collection<String> tables(List<String> available, String column, Long... values) {
        Map<String, Collection<Long>> conditions = values.length == 0 ? Map.of() : Map.of(column, List.of(values));
        return sharding("photo_", SHARDS)
                .doSharding(available, new ComplexKeysShardingValue<>("photo", conditions, Map.of()));
    }

    private static PhotoSharding sharding(String prefix, int modulo) {
        Properties properties = new Properties();
        properties.setProperty("prefix", prefix);
        properties.setProperty("shards", String.valueOf(SHARDS));
        properties.setProperty("modulo", String.valueOf(modulo));
        PhotoSharding sharding = new PhotoSharding();
        sharding.init(properties);
        return sharding;
    }

    private static long id(int shard) {
        return IdLayout.DEFAULT.encode(IdLayout.DEFAULT.epochMillis() + 1_000_000, shard, 5);
    }
}
