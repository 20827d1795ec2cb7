/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.command.option.Subcommands;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** {@code shardflake id}: commands for single ids. */
@Command(
        name = "id",
        description = "Creates and decodes ids.",
        footer = {"", "Example: shardflake id decode 11637205501278089 --epoch 1293840000000"})
public final class IdCommand implements Subcommands {

    /** Makes {@code id decode -1} read an id, although it looks like an option. */
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

    @Override
    public List<String> names() {
        return List.of("decode", "encode", "convert", "range", "next", "generate");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "decode" -> new IdDecodeCommand();
            case "encode" -> new IdEncodeCommand();
            case "convert" -> new IdConvertCommand();
            case "range" -> new IdRangeCommand();
            case "next" -> new IdNextCommand();
            case "generate" -> new IdGenerateCommand();
            default -> throw new IllegalArgumentException("no command id " + name);
        };
    }
}
