/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** {@code shardflake id}: commands for single ids. */
@Command(
        name = "id",
        description = "Makes ids and takes them apart.",
        footer = {"", "Example: shardflake id decode 11637205501278089 --epoch 1293840000000"})
public final class IdCommand {

    /** Lets {@code id decode -1} pass as an id although it looks like an option. */
    public static void acceptNegativeIds(Map<String, CommandLine> commands) {
        CommandLine id = commands.get("id");
        if (id != null) {
            acceptNegativeIds(id.getSubcommands().get("decode"));
            acceptNegativeIds(id.getSubcommands().get("convert"));
        }
    }

    private static void acceptNegativeIds(@Nullable CommandLine command) {
        if (command != null) {
            command.setUnmatchedOptionsArePositionalParams(true);
        }
    }
}
