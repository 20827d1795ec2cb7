/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.List;

/**
 * The pending work of one shard.
 *
 * @param create whether its schema must be created
 * @param steps changesets to deploy, in order
 */
record ShardPlan(int shard, boolean create, List<Step> steps) {

    /**
     * A changeset to deploy.
     *
     * @param position its place in the changelog, counted from 1
     * @param again whether the shard has had it before, in this or another form
     */
    record Step(ShardChangeSet changeSet, int position, boolean again) {}

    /**
     * Groups plans by the transactions that carry them out: shards to be created several together, all others, which may be in use,
     * one by one.
     */
    static List<List<ShardPlan>> batches(List<ShardPlan> plans, int connections) {
        List<List<ShardPlan>> batches =
                CreationBatches.of(plans.stream().filter(ShardPlan::canShare).toList(), ShardPlan::sql, connections);
        plans.stream().filter(plan -> !plan.canShare()).forEach(plan -> batches.add(List.of(plan)));
        return batches;
    }

    private boolean canShare() {
        return create
                && steps.stream()
                        .map(Step::changeSet)
                        .allMatch(changeSet -> changeSet.inTransaction()
                                && changeSet.isMade()
                                && !changeSet.hasPreconditions()
                                && !changeSet.lasts());
    }

    private List<String> sql() {
        return steps.stream().flatMap(step -> step.changeSet().sql().stream()).toList();
    }

    boolean isEmpty() {
        return !create && steps.isEmpty();
    }
}
