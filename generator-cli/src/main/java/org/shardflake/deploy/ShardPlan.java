/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.ArrayList;
import java.util.List;

/**
 * What one shard needs.
 *
 * @param create whether its schema is still to be created
 * @param steps changesets to deploy, in order
 */
record ShardPlan(int shard, boolean create, List<Step> steps) {

    /** A transaction with many more would need a larger max_locks_per_transaction than PostgreSQL has by default. */
    private static final int MOST_STATEMENTS = 100;

    /**
     * A changeset to deploy.
     *
     * @param position its place in the changelog, counted from 1
     * @param again whether the shard has had it already, in this or another form
     */
    record Step(ShardChangeSet changeSet, int position, boolean again) {}

    /**
     * Plans that can be carried out in one transaction each: shards still to be created some together, all others, which may be
     * in use, one by one.
     */
    static List<List<ShardPlan>> batches(List<ShardPlan> plans, int atMost) {
        List<ShardPlan> together = plans.stream().filter(ShardPlan::canShare).toList();
        int statements = together.stream().mapToInt(ShardPlan::statements).max().orElse(1);
        int size = Math.max(1, Math.min(atMost, MOST_STATEMENTS / statements));
        List<List<ShardPlan>> batches = new ArrayList<>();
        for (int from = 0; from < together.size(); from += size) {
            batches.add(together.subList(from, Math.min(from + size, together.size())));
        }
        plans.stream().filter(plan -> !plan.canShare()).forEach(plan -> batches.add(List.of(plan)));
        return batches;
    }

    private boolean canShare() {
        return create
                && steps.stream()
                        .map(Step::changeSet)
                        .allMatch(changeSet -> changeSet.inTransaction() && !changeSet.hasPreconditions());
    }

    /** How many statements it takes, with the one that creates the shard. */
    private int statements() {
        return 1
                + steps.stream().mapToInt(step -> step.changeSet().sql().size()).sum();
    }

    boolean isEmpty() {
        return !create && steps.isEmpty();
    }
}
