/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.deploy.ShardPlan.Step;

class ShardPlanTest {

    private static ShardPlan plan(int shard, boolean create, int statements, boolean transaction, boolean asks) {
        ShardChangeSet changeSet = new ShardChangeSet(
                "1",
                "ann",
                "app.sql",
                "9:0",
                "sql",
                Collections.nCopies(statements, "SELECT 1"),
                Optional.empty(),
                transaction,
                false,
                false,
                asks);
        return new ShardPlan(shard, create, List.of(new Step(changeSet, 1, false)));
    }

    private static List<List<Integer>> batches(List<ShardPlan> plans, int connections) {
        return ShardPlan.batches(plans, connections).stream()
                .map(batch -> batch.stream().map(ShardPlan::shard).toList())
                .toList();
    }

    @ParameterizedTest
    @CsvSource({"3, 2, 10", "25, 1, 4", "100, 2, 1", "400, 2, 1", "0, 2, 10", "3, 10, 2", "3, 30, 1"})
    void newShardsShareATransactionAsLongAsItStaysSmall(int statements, int connections, int together) {
        List<ShardPlan> plans = IntStream.range(0, 20)
                .mapToObj(shard -> plan(shard, true, statements, true, false))
                .toList();

        List<List<Integer>> batches = batches(plans, connections);

        assertThat(batches).allSatisfy(batch -> assertThat(batch).hasSize(together));
        assertThat(batches.stream().flatMap(List::stream))
                .containsExactlyElementsOf(IntStream.range(0, 20).boxed().toList());
    }

    @Test
    void othersGoAlone() {
        List<ShardPlan> plans = List.of(
                plan(1, true, 1, true, false),
                plan(2, false, 1, true, false),
                plan(3, true, 1, false, false),
                plan(4, true, 1, true, true),
                plan(5, true, 1, true, false));

        assertThat(batches(plans, 1)).containsExactly(List.of(1, 5), List.of(2), List.of(3), List.of(4));
    }

    @Test
    void nothingToDoMakesNoBatch() {
        assertThat(batches(List.of(), 2)).isEmpty();
    }
}
