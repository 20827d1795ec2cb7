/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ShardingTest {

    @ParameterizedTest
    @CsvSource({
        "31341,                2000, 1341",
        "0,                    2000, 0",
        "1999,                 2000, 1999",
        "2000,                 2000, 0",
        "-1,                   2000, 1999",
        "-2000,                2000, 0",
        "9223372036854775807,  2000, 1807",
        "-9223372036854775808, 2000, 192",
        "9223372036854775807,  8192, 8191",
        "42,                   1,    0",
    })
    void spreadsUidsOverShards(long uid, int shardCount, int shard) {
        assertThat(new Sharding(shardCount).shard(uid)).isEqualTo(shard);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, 8193})
    void refusesAShardCountOutOfRange(int shardCount) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Sharding(shardCount))
                .withMessage("shard count %d is out of range 1..8192", shardCount);
    }

    @ParameterizedTest
    @CsvSource({"0, shard_0000", "7, shard_0007", "42, shard_0042", "1341, shard_1341", "8191, shard_8191"})
    void namesTheSchemaOfAShard(int shard, String schema) {
        assertThat(Sharding.schema(shard)).isEqualTo(schema);
    }

    @Test
    void namesNoSchemaForAShardOutOfRange() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Sharding.schema(8192))
                .withMessage("shard 8192 is out of range 0..8191");
    }
}
