/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.Sharding;

/**
 * The changes that a deployment would make.
 *
 * @param shards how many shards of each server need something
 * @param example a shard that needs something, or -1 if none does
 * @param sql its SQL for that shard
 */
public record DeployPreview(Map<String, Integer> shards, int example, List<String> sql) {

    static DeployPreview of(List<ServerDeployment> deployments) {
        Map<String, Integer> shards = new LinkedHashMap<>();
        for (ServerDeployment deployment : deployments) {
            shards.put(deployment.target().server(), deployment.pending().size());
        }
        return deployments.stream()
                .flatMap(deployment -> deployment.pending().stream())
                .findFirst()
                .map(plan -> new DeployPreview(shards, plan.shard(), sql(plan)))
                .orElseGet(() -> new DeployPreview(shards, -1, List.of()));
    }

    static DeployPreview ofRollBack(List<ServerDeployment> deployments, List<ShardChangeSet> changeSets, int count) {
        Map<String, Integer> shards = new LinkedHashMap<>();
        int example = -1;
        List<String> sql = List.of();
        for (ServerDeployment deployment : deployments) {
            List<Integer> its = deployment.shardsWithHistory();
            shards.put(deployment.target().server(), its.size());
            if (example < 0 && !its.isEmpty()) {
                example = its.get(0);
                sql = rollBackSql(example, deployment.latest(changeSets, count, example));
            }
        }
        return new DeployPreview(shards, example, sql);
    }

    private static List<String> rollBackSql(int shard, List<ShardChangeSet> latest) {
        String schema = Sharding.schema(shard);
        List<String> sql = new ArrayList<>();
        sql.add("SET search_path = %s, public".formatted(schema));
        for (ShardChangeSet changeSet : latest) {
            sql.add("-- " + changeSet.key());
            changeSet
                    .rollbackSql()
                    .ifPresentOrElse(
                            statements -> statements.forEach(one -> sql.add(ShardChangeSet.forShard(one, schema))),
                            () -> sql.add("-- it cannot be undone: write a rollback into it"));
        }
        return sql;
    }

    private static List<String> sql(ShardPlan plan) {
        String schema = Sharding.schema(plan.shard());
        List<String> sql = new ArrayList<>();
        if (plan.create()) {
            sql.add("SELECT shardflake.create_shard(%d)".formatted(plan.shard()));
        }
        sql.add("SET search_path = %s, public".formatted(schema));
        for (ShardPlan.Step step : plan.steps()) {
            sql.add("-- " + step.changeSet().key());
            step.changeSet().sql().forEach(one -> sql.add(ShardChangeSet.forShard(one, schema)));
        }
        sql.add("SELECT shardflake.complete_tables(%d)".formatted(plan.shard()));
        return sql;
    }
}
