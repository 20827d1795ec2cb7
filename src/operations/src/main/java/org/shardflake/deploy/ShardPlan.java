/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

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

    /** Groups plans by transaction: several shards to be created together, but each existing shard, which may be in use, alone. */
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

    /**
     * The pending work of a moving shard and its copy. Usually the same; if not, a deployment died between the two.
     *
     * @param steps changesets to deploy, in order
     */
    record Followed(int shard, Follower follower, List<Both> steps) {

        /**
         * A changeset to deploy, to the shard or the copy or both.
         *
         * @param sql what it means for them
         */
        record Both(Optional<Step> onShard, Optional<Step> onCopy, FollowedSql sql) {

            ShardChangeSet changeSet() {
                return onShard.or(() -> onCopy).orElseThrow().changeSet();
            }

            private boolean isAlike(Both other) {
                return onShard.isPresent() == other.onShard.isPresent()
                        && onCopy.isPresent() == other.onCopy.isPresent();
            }
        }

        /**
         * Steps that share one transaction on each of the two servers.
         *
         * @param order the order of these
         */
        record Group(FollowedSql.Order order, List<Both> steps) {

            /** Whether the group is a single changeset that cannot run in a transaction. */
            boolean isAlone() {
                return !steps.get(0).changeSet().inTransaction();
            }

            boolean isShardFirst() {
                return order == FollowedSql.Order.SHARD_FIRST;
            }

            List<Step> onShard() {
                return steps.stream().flatMap(step -> step.onShard().stream()).toList();
            }

            List<Step> onCopy() {
                return steps.stream().flatMap(step -> step.onCopy().stream()).toList();
            }
        }

        boolean isEmpty() {
            return steps.isEmpty();
        }

        /** Whether an earlier deployment was interrupted between the two servers; until it is finished, replication may be blocked. */
        boolean isHalfDone() {
            return steps.stream()
                    .anyMatch(step -> step.onShard().isEmpty() || step.onCopy().isEmpty());
        }

        List<Group> groups() {
            List<Group> groups = new ArrayList<>();
            for (Both step : steps) {
                Optional<Group> joined =
                        groups.isEmpty() ? Optional.empty() : joined(groups.get(groups.size() - 1), step);
                if (joined.isPresent()) {
                    groups.set(groups.size() - 1, joined.get());
                } else {
                    groups.add(new Group(step.sql().order(), List.of(step)));
                }
            }
            return groups;
        }

        private static Optional<Group> joined(Group group, Both step) {
            Both last = group.steps().get(group.steps().size() - 1);
            boolean commits = group.isAlone()
                    || !step.changeSet().inTransaction()
                    || last.changeSet().sql().stream().anyMatch(SqlEffects::addsValue);
            return commits || !last.isAlike(step)
                    ? Optional.empty()
                    : FollowedSql.and(group.order(), step.sql().order()).map(order -> {
                        List<Both> all = new ArrayList<>(group.steps());
                        all.add(step);
                        return new Group(order, all);
                    });
        }
    }
}
