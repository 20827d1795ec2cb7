/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.local;

import java.util.List;
import org.shardflake.cli.command.option.Subcommands;
import picocli.CommandLine.Command;

/** {@code shardflake local}: runs servers on this machine for trying things out. */
@Command(
        name = "local",
        description = {
            "Runs embedded PostgreSQL servers that last, with an installation to try every command on. Needs nothing"
                    + " installed.",
            "Commands run in the same directory find its catalog."
        },
        footer = {"", "Example: shardflake local start"})
public final class LocalCommand implements Subcommands {

    @Override
    public List<String> names() {
        return List.of("start", "status", "stop");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "start" -> new LocalStartCommand();
            case "status" -> new LocalStatusCommand();
            case "stop" -> new LocalStopCommand();
            default -> throw new IllegalArgumentException("no command local " + name);
        };
    }
}
