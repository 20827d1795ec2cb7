/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.cdc;

import java.util.List;
import org.shardflake.cli.command.option.Subcommands;
import picocli.CommandLine.Command;

/** {@code shardflake cdc}: the change stream. */
@Command(
        name = "cdc",
        description = {
            "Keeps the change stream: a publication shardflake_cdc on each server, which has the tables of a shard exactly while the shard is that server's, for Debezium and other readers of changes.",
            "Moves and deployments keep it up to date."
        },
        footer = {"", "Example: shardflake cdc create"})
public final class CdcCommand implements Subcommands {

    @Override
    public List<String> names() {
        return List.of("create", "status", "drop");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "create" -> new CdcCreateCommand();
            case "status" -> new CdcStatusCommand();
            case "drop" -> new CdcDropCommand();
            default -> throw new IllegalArgumentException("no command cdc " + name);
        };
    }
}
