/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.deploy.ShardPlan.Step;

class ShardPlanTest {

    private static ShardPlan plan(int shard, boolean create, int statements, boolean transaction, boolean asks) {
        return plan(shard, create, Collections.nCopies(statements, "SELECT 1"), transaction, asks);
    }

    private static ShardPlan plan(int shard, boolean create, List<String> sql, boolean transaction, boolean asks) {
        ShardChangeSet changeSet = new ShardChangeSet(
                "1",
                "ann",
                "app.sql",
                List.of("app.sql"),
                "9:0",
                "sql",
                sql,
                Optional.empty(),
                transaction,
                false,
                false,
                asks,
                sql.stream().anyMatch(StraySql::lasts),
                Optional.empty(),
                Optional.empty(),
                Set.of(),
                Optional.empty(),
                List.of());
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

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SET LOCAL ROLE app",
                "reset role",
                "SELECT 1; SET default_tablespace = fast",
                "DO $$ BEGIN SET LOCAL ROLE app; END $$",
                "SELECT set_config('role', 'app', true)",
                "CREATE TEMP TABLE seen (id bigint) ON COMMIT DROP"
            })
    void whatLastsToTheEndOfATransactionGoesAlone(String sql) {
        List<ShardPlan> plans =
                List.of(plan(1, true, List.of("SELECT 1", sql), true, false), plan(2, true, List.of(sql), true, false));

        assertThat(batches(plans, 1)).containsExactly(List.of(1), List.of(2));
    }

    @Test
    void otherSettingsAreNoReasonToGoAlone() {
        List<String> sql = List.of(
                "ALTER TABLE photo ALTER COLUMN title SET DEFAULT 'none'", "UPDATE photo SET title = 'the attempt'");

        assertThat(batches(List.of(plan(1, true, sql, true, false), plan(2, true, sql, true, false)), 1))
                .containsExactly(List.of(1, 2));
    }

    @Test
    void countsStatementsThatLiquibaseDidNotSplit() {
        List<String> sql = List.of("CREATE TABLE t (id bigint PRIMARY KEY);".repeat(50));
        List<ShardPlan> plans = IntStream.range(0, 4)
                .mapToObj(shard -> plan(shard, true, sql, true, false))
                .toList();

        assertThat(batches(plans, 1)).containsExactly(List.of(0, 1), List.of(2, 3));
    }

    @Test
    void nothingToDoMakesNoBatch() {
        assertThat(batches(List.of(), 2)).isEmpty();
    }
}
