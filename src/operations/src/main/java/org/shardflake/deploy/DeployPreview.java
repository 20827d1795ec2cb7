/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;

/**
 * The changes that a deployment or a rollback would make in all shards.
 *
 * @param shards how many shards of each server would be changed
 * @param groups shards to which the same would happen; the largest group first, and last the one to which nothing would
 */
public record DeployPreview(Map<String, Integer> shards, List<Group> groups) {

    /**
     * The shards in which the same changes would be made.
     *
     * @param shards by server
     * @param changeSets what they would get, or what would be undone, in this order: path, id and author; empty if nothing happens
     * @param example the first of them
     * @param sql the SQL for this one; empty if nothing happens
     */
    public record Group(Map<String, ShardSet> shards, List<String> changeSets, int example, List<String> sql) {

        /** The number of shards in the group. */
        public int size() {
            return shards.values().stream().mapToInt(ShardSet::size).sum();
        }
    }

    /** The planned changes of one shard; equal for two shards if only the shard's name differs. */
    private record Fate(boolean create, List<String> changeSets, List<Boolean> flags) {

        boolean isNothing() {
            return !create && changeSets.isEmpty();
        }
    }

    static DeployPreview of(List<ServerDeployment> deployments) {
        Groups<ShardPlan> groups = new Groups<>(DeployPreview::sql);
        deployments.forEach(deployment -> deployment
                .plans()
                .forEach(plan -> groups.add(
                        deployment,
                        plan.shard(),
                        new Fate(
                                plan.create(),
                                plan.steps().stream()
                                        .map(step -> step.changeSet().key())
                                        .toList(),
                                plan.steps().stream().map(ShardPlan.Step::again).toList()),
                        plan)));
        return groups.preview();
    }

    static DeployPreview ofRollBack(Map<ServerDeployment, List<RollBack.Plan>> plans) {
        Groups<RollBack.Plan> groups = new Groups<>(DeployPreview::rollBackSql);
        plans.forEach((deployment, its) -> its.forEach(plan -> groups.add(
                deployment,
                plan.shard(),
                new Fate(
                        false,
                        plan.steps().stream()
                                .map(undoing -> undoing.changeSet().key())
                                .toList(),
                        plan.steps().stream().map(RollBack.Undoing::onlyMarked).toList()),
                plan)));
        return groups.preview();
    }

    /** Collects the groups, shard by shard. */
    private static final class Groups<P> {

        private final BiFunction<String, P, List<String>> sql;
        private final Map<String, Integer> shards = new LinkedHashMap<>();
        private final Map<Fate, Map<String, List<Integer>>> fates = new LinkedHashMap<>();
        private final Map<Fate, P> examples = new LinkedHashMap<>();

        Groups(BiFunction<String, P, List<String>> sql) {
            this.sql = sql;
        }

        void add(ServerDeployment deployment, int shard, Fate fate, P plan) {
            String server = deployment.target().server();
            shards.merge(server, fate.isNothing() ? 0 : 1, Integer::sum);
            examples.putIfAbsent(fate, plan);
            fates.computeIfAbsent(fate, f -> new LinkedHashMap<>())
                    .computeIfAbsent(server, s -> new ArrayList<>())
                    .add(shard);
        }

        DeployPreview preview() {
            List<Group> groups = new ArrayList<>();
            List<Group> untouched = new ArrayList<>();
            fates.forEach((fate, servers) -> {
                Map<String, ShardSet> its = new LinkedHashMap<>();
                servers.forEach((server, list) -> its.put(server, ShardSet.of(list)));
                int example = servers.values().iterator().next().get(0);
                if (fate.isNothing()) {
                    untouched.add(new Group(its, List.of(), example, List.of()));
                } else {
                    groups.add(new Group(
                            its, fate.changeSets(), example, sql.apply(Sharding.schema(example), examples.get(fate))));
                }
            });
            groups.sort(Comparator.comparingInt(Group::size).reversed());
            groups.addAll(untouched);
            return new DeployPreview(shards, groups);
        }
    }

    private static List<String> rollBackSql(String schema, RollBack.Plan plan) {
        List<String> sql = new ArrayList<>();
        sql.add("SET search_path = %s, public".formatted(schema));
        for (RollBack.Undoing undoing : plan.steps()) {
            sql.add("-- " + undoing.changeSet().key());
            if (undoing.onlyMarked()) {
                sql.add("-- its preconditions did not hold: only its line in the history is removed");
            } else if (undoing.changeSet().rollbackSql().isEmpty()) {
                sql.add("-- it cannot be undone: write a rollback into it");
            } else {
                undoing.sql().forEach(one -> sql.add(ShardChangeSet.forShard(one, schema)));
            }
        }
        return sql;
    }

    private static List<String> sql(String schema, ShardPlan plan) {
        List<String> sql = new ArrayList<>();
        if (plan.create()) {
            sql.add("SELECT shardflake.create_shard(%s)".formatted(plan.shard()));
        }
        sql.add("SET search_path = %s, public".formatted(schema));
        for (ShardPlan.Step step : plan.steps()) {
            sql.add("-- " + step.changeSet().key());
            if (step.changeSet().isTakenOver()) {
                sql.add("-- the old database has had it: it is recorded, and not run");
            }
            if (step.changeSet().hasPreconditions()) {
                sql.add("-- only where its preconditions hold, which each shard is asked when its turn comes");
            }
            step.changeSet().sql().forEach(one -> sql.add(ShardChangeSet.forShard(one, schema)));
        }
        sql.add("SELECT shardflake.complete_tables(%s)".formatted(plan.shard()));
        return sql;
    }
}
