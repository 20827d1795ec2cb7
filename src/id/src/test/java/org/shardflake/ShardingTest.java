/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Random;
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
                .withMessage("shard count %s is out of range 1..8192", shardCount);
    }

    @ParameterizedTest
    @CsvSource({"0, shard_0000", "7, shard_0007", "42, shard_0042", "1341, shard_1341", "8191, shard_8191"})
    void namesTheSchemaOfAShard(int shard, String schema) {
        assertThat(Sharding.schema(shard)).isEqualTo(schema);
    }

    @ParameterizedTest
    @CsvSource({
        "0, 1, 0",
        "9223372036854775807, 8192, 9223372036854775807",
        "9223372036846388223, 1, 1125899906842623",
        "11637205501278089, 2000, 2841114625811341"
    })
    void makesAKeyOfAnId(long id, int shardCount, long key) {
        assertThat(new Sharding(shardCount).key(id)).isEqualTo(key);
    }

    /** So no two ids have one key, and a key leads to the shard of its id. */
    @Test
    void aKeySaysItsIdAndRoutesToItsShard() {
        Random random = new Random(7);
        for (int i = 0; i < 100_000; i++) {
            Sharding sharding = new Sharding(1 + random.nextInt(8192));
            long ticks = random.nextLong() >>> 14;
            int shard = random.nextInt(sharding.shardCount());
            long id = ((ticks >> 10) << 23) | ((long) shard << 10) | (ticks & 1023);

            long key = sharding.key(id);

            assertThat(sharding.shard(key)).isEqualTo(shard);
            assertThat(key / sharding.shardCount()).isEqualTo(ticks);
        }
    }

    @Test
    void makesNoKeyOfAnIdOfAnotherInstallation() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Sharding(8).key(9L << 10))
                .withMessage("shard 9 is out of range 0..7");
        assertThatIllegalArgumentException().isThrownBy(() -> new Sharding(8).key(-1));
    }

    @Test
    void namesNoSchemaForAShardOutOfRange() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Sharding.schema(8192))
                .withMessage("shard 8192 is out of range 0..8191");
    }
}
