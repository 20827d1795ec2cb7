/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class CreationBatchesTest {

    private static final String TABLE = "CREATE TABLE t (id bigint PRIMARY KEY)";

    /** Without it, each shard of a copy is created alone, in twice the time. */
    @Test
    void shardsAreCreatedTogetherThoughEachChangesetSetsItsPath() {
        List<String> copied = List.of(
                SearchPath.of(ShardChangeSet.TEMPLATE_SCHEMA),
                TABLE,
                ShardChangeSet.completion(List.of("INSERT INTO t DEFAULT VALUES"), "all")
                        .orElseThrow(),
                SearchPath.of(ShardChangeSet.TEMPLATE_SCHEMA),
                "CREATE INDEX ON t (id)");

        assertThat(sizes(copied)).containsExactly(10, 10);
        assertThat(ShardChangeSet.completion(List.of(TABLE), "all")).isEqualTo(Optional.empty());
    }

    @Test
    void aShardWhoseSettingsLastIsCreatedAlone() {
        for (String lasting : List.of(
                "SET work_mem = '8MB'",
                "SET LOCAL work_mem = '8MB'",
                "SET search_path = other",
                "SELECT 1; set local work_mem = 1",
                "SELECT set_config('search_path', 'other', true)",
                "CREATE TEMP TABLE t (id int)",
                "CREATE TABLE IF NOT EXISTS pg_temp.t (id int)")) {
            assertThat(sizes(List.of(lasting, TABLE))).as(lasting).hasSize(20).containsOnly(1);
        }
    }

    private static List<Integer> sizes(List<String> sql) {
        List<Integer> shards = IntStream.range(0, 20).boxed().toList();
        Function<Integer, List<String>> same = shard -> sql;
        return CreationBatches.of(shards, same, 1).stream().map(List::size).toList();
    }
}
