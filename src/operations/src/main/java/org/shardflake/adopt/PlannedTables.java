/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.util.List;
import java.util.Objects;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.adoption.AdoptionPlan.Goes;
import org.shardflake.adoption.AdoptionPlan.Step;
import org.shardflake.adoption.AdoptionPlan.Table;

/** The tables of a plan that go into the shards, each with the first step of its path. */
final class PlannedTables {

    private PlannedTables() {}

    /** @throws AdoptRefusedException if the paths of a table and of one that it leads through differ */
    static List<AdoptTable> of(AdoptionPlan plan) {
        return plan.tables().stream()
                .filter(table -> table.goes() == Goes.SHARDS)
                .map(table -> of(table, plan))
                .toList();
    }

    private static AdoptTable of(Table table, AdoptionPlan plan) {
        String key = Objects.requireNonNull(table.shardKey());
        if (table.path().isEmpty()) {
            return AdoptTable.of(table.name().sql(), table.target(), key);
        }
        Step first = table.path().get(0);
        Table parent = plan.table(first.to()).orElseThrow();
        // Otherwise a row and the one that it refers to could be in different shards.
        if (!parent.path().equals(table.path().subList(1, table.path().size()))) {
            throw new AdoptRefusedException(
                    "the path of %s goes on from %s by another way than that table's own"
                            .formatted(table.name(), parent.name()),
                    "change one of the two paths in the plan, so that rows that belong together have one key");
        }
        return new AdoptTable(
                table.name().sql(),
                table.target(),
                key,
                first.columns(),
                parent.name().sql(),
                first.toColumns());
    }
}
