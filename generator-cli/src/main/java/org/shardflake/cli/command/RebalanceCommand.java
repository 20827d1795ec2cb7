/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import picocli.CommandLine.Command;

/** {@code shardflake rebalance}: spreads the shards evenly over the servers. */
@Command(
        name = "rebalance",
        description =
                "Plans which shards should change servers, and carries out a plan, once or as long as it is left running.",
        footer = {"", "Example: shardflake rebalance plan --file plan.yaml"})
public final class RebalanceCommand {}
