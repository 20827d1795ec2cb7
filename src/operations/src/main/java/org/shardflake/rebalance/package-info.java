/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Plans which shards should change servers so that the servers are evenly loaded, or one of them becomes empty.
 *
 * <p>{@link org.shardflake.rebalance.RebalancePlanner} makes the plan, {@link org.shardflake.rebalance.RebalancePlanFile} keeps it
 * for review, {@link org.shardflake.rebalance.PlanRun} carries it out.
 * {@link org.shardflake.rebalance.AutoRebalance} does all of it by itself, again and again.
 *
 * <pre>{@code
 * ShardMap map = ShardCatalog.at(catalog).load();
 * RebalancePlan plan = RebalancePlanner.plan(map, shard -> 0, RebalanceSettings.by(RebalanceBy.COUNT));
 * new PlanRun(plan, ShardCatalog.at(catalog)).run(new ParallelMoves(mover, "rebalanced"));
 * }</pre>
 */
@NullMarked
package org.shardflake.rebalance;

import org.jspecify.annotations.NullMarked;
