/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ShardKeyTest {

    /** From {@code printf %s alice | sha256sum}, the first 16 hexadecimal digits. */
    @ParameterizedTest
    @CsvSource({"alice,2bd806c97f0e00af", "'',e3b0c44298fc1c14", "Zo\u00eb,c6a12698582fc110"})
    void hashesTextByTheFirstBytesOfItsSha256(String key, String digits) {
        assertThat(ShardKey.hash(key)).isEqualTo(Long.parseUnsignedLong(digits, 16));
    }

    @Test
    void spreadsTextAndUuidsEvenly() {
        int[] texts = new int[20];
        int[] uuids = new int[20];
        for (int i = 0; i < 20_000; i++) {
            texts[Math.floorMod(ShardKey.hash("user" + i), 20)]++;
            // All that differs is the end, as in a sequential UUID.
            uuids[Math.floorMod(ShardKey.hash(new UUID(7, i)), 20)]++;
        }
        assertThat(Arrays.stream(texts)).allMatch(count -> count > 850 && count < 1150);
        assertThat(Arrays.stream(uuids)).allMatch(count -> count > 850 && count < 1150);
    }

    @Test
    void tellsUidsIdsAndShardsApart() {
        assertThat(ShardKey.uid(7)).isEqualTo(ShardKey.uid(7)).isNotEqualTo(ShardKey.id(7));
        assertThat(ShardKey.uid("alice")).isEqualTo(ShardKey.uid(ShardKey.hash("alice")));
        assertThat(ShardKey.uid(42)).hasToString("uid 42");
        assertThat(ShardKey.id(42)).hasToString("id 42");
        assertThat(ShardKey.shard(42)).hasToString("shard 42");
    }
}
