/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks;

import org.shardflake.benchmarks.deploys.DeployComparison;

/**
 * A deployment to every shard beside one run of Liquibase per schema, and how it grows with shards and servers. Writes {@code
 * deploys.md} with its charts. {@code -Ddeploys.shards=40 -Ddeploys.rounds=1 -Ddeploys.growthRounds=1 -Ddeploys.databases=20,40
 * -Ddeploys.servers=2,3 -Ddeploys.sample=4} makes it short.
 */
public final class Deploys {

    private Deploys() {}

    public static void main(String[] arguments) throws Exception {
        DeployComparison.run();
    }
}
