/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.rebalance;

import java.util.List;
import org.shardflake.cli.command.option.Subcommands;
import picocli.CommandLine.Command;

/** {@code shardflake rebalance}: spreads the shards evenly over the servers. */
@Command(
        name = "rebalance",
        description =
                "Plans which shards should change servers, and carries out a plan, once or as long as it is left running.",
        footer = {"", "Example: shardflake rebalance plan --file plan.yaml"})
public final class RebalanceCommand implements Subcommands {

    @Override
    public List<String> names() {
        return List.of("plan", "apply", "run");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "plan" -> new RebalancePlanCommand();
            case "apply" -> new RebalanceApplyCommand();
            case "run" -> new RebalanceRunCommand();
            default -> throw new IllegalArgumentException("no command rebalance " + name);
        };
    }
}
