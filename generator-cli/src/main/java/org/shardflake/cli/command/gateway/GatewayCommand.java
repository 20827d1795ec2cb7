/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.gateway;

import java.util.List;
import org.shardflake.cli.command.option.Subcommands;
import picocli.CommandLine.Command;

/** {@code shardflake gateway}: tables over all shards in any PostgreSQL database. */
@Command(
        name = "gateway",
        description = {
            "Keeps gateways: schemas in any PostgreSQL database with one read-only table for each table of the shards, for psql and BI tools.",
            "Moves keep them up to date."
        },
        footer = {"", "Example: shardflake gateway deploy --on postgresql://ann@reports/bi --reader reports"})
public final class GatewayCommand implements Subcommands {

    @Override
    public List<String> names() {
        return List.of("deploy", "refresh", "status", "drop");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "deploy" -> new GatewayDeployCommand();
            case "refresh" -> new GatewayRefreshCommand();
            case "status" -> new GatewayStatusCommand();
            case "drop" -> new GatewayDropCommand();
            default -> throw new IllegalArgumentException("no command gateway " + name);
        };
    }
}
