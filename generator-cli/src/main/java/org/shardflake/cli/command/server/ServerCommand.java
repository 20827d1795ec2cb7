/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.server;

import java.util.List;
import org.shardflake.cli.command.option.Subcommands;
import picocli.CommandLine.Command;

/** {@code shardflake server}: manages the servers that shards can be placed on. */
@Command(
        name = "server",
        description = "Adds, lists, changes, drains and removes the servers of the shard map.",
        footer = {"", "Example: shardflake server add db3 postgresql://app@db3/app"})
public final class ServerCommand implements Subcommands {

    @Override
    public List<String> names() {
        return List.of("add", "list", "change", "drain", "split", "remove", "names");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "add" -> new ServerAddCommand();
            case "list" -> new ServerListCommand();
            case "change" -> new ServerChangeCommand();
            case "drain" -> new ServerDrainCommand();
            case "split" -> new ServerSplitCommand();
            case "remove" -> new ServerRemoveCommand();
            case "names" -> new ServerNamesCommand();
            default -> throw new IllegalArgumentException("no command server " + name);
        };
    }
}
