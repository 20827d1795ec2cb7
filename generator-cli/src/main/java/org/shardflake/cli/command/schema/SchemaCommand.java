/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.schema;

import java.util.List;
import org.shardflake.cli.command.option.Subcommands;
import picocli.CommandLine.Command;

/** {@code shardflake schema}: manages the tables of all shards. */
@Command(
        name = "schema",
        description = "Deploys the application's tables to every shard, rolls changes back, and compares the shards.",
        footer = {"", "Example: shardflake schema deploy --changelog db/app.xml"})
public final class SchemaCommand implements Subcommands {

    @Override
    public List<String> names() {
        return List.of("deploy", "check", "status", "rollback");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "deploy" -> new SchemaDeployCommand();
            case "check" -> new SchemaCheckCommand();
            case "status" -> new SchemaStatusCommand();
            case "rollback" -> new SchemaRollbackCommand();
            default -> throw new IllegalArgumentException("no command schema " + name);
        };
    }
}
