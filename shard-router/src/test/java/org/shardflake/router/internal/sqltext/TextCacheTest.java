/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.shardflake.router.internal.sqltext.SqlEffects.Effect;

class TextCacheTest {

    private final List<String> read = new ArrayList<>();
    private final TextCache<String> cache = new TextCache<>(20_000);

    @Test
    void aTextInUseStaysAndOthersAreDroppedInTheirOrder() {
        for (int i = 0; i < 1_000; i++) {
            get("in use");
            get("text " + i);
        }
        assertThat(read).hasSize(1_001).containsOnlyOnce("in use");

        get("text 999");
        assertThat(read).hasSize(1_001);
        get("text 0");
        assertThat(read).hasSize(1_002);
    }

    @Test
    void aLargeTextPushesNothingOut() {
        get("in use");
        String large = "x".repeat(2_000);
        get(large);
        get(large);
        get("in use");

        assertThat(read).containsExactly("in use", large, large);
    }

    private void get(String text) {
        assertThat(cache.get(text, missing -> {
                    read.add(missing);
                    return missing + "!";
                }))
                .isEqualTo(text + "!");
    }

    /** All shards share what is known of a text, but not the table that it writes to. */
    @Test
    void aTextOfAShardKeepsItsNames() {
        for (String schema : List.of("shard_0007", "shard_1999")) {
            assertThat(SqlEffects.facts("INSERT INTO " + schema + ".t_" + schema + " VALUES (1)", schema))
                    .isEqualTo(new SqlEffects.Facts(Effect.NONE, new WrittenTable(schema, "t_" + schema), null));
            assertThat(SqlEffects.facts("INSERT INTO shard_nnnn.t VALUES (1)", schema)
                            .written())
                    .isEqualTo(new WrittenTable("shard_nnnn", "t"));
            assertThat(SqlEffects.facts("DELETE FROM shard_0008.t", schema).written())
                    .isEqualTo(new WrittenTable("shard_0008", "t"));
        }
    }
}
