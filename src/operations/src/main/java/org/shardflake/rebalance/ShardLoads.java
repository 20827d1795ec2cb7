/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.util.Map;
import java.util.function.IntToDoubleFunction;
import java.util.function.IntToLongFunction;
import org.shardflake.load.ShardRate;
import org.shardflake.load.ShardSizes;

/**
 * The loads of shards, by number.
 *
 * @param bytes of a shard: what it costs to move, and its load in a plan by bytes; not called for a plan by count
 * @param rate rows written per second in a shard; called only for a plan by rate or by both
 */
public record ShardLoads(IntToLongFunction bytes, IntToDoubleFunction rate) {

    /** The measured loads; a shard without a measured rate counts as having none. */
    public static ShardLoads measured(ShardSizes sizes, Map<Integer, ShardRate> rates) {
        return new ShardLoads(
                sizes::bytes, shard -> rates.getOrDefault(shard, ShardRate.NONE).written());
    }

    /** The loads without rates, for a plan by bytes or by count. */
    public static ShardLoads ofBytes(IntToLongFunction bytes) {
        return new ShardLoads(bytes, shard -> {
            throw new IllegalArgumentException("a plan by rate needs rates");
        });
    }
}
