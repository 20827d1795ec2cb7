/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.util.List;
import org.shardflake.cli.command.option.Subcommands;
import picocli.CommandLine.Command;

/** {@code shardflake move}: moves shards from one live server to another. */
@Command(
        name = "move",
        description = {
            "Moves shards between live servers while the application keeps writing.",
            "start copies the shards and makes the target follow; cutover makes the target take the writes,"
                    + " shard by shard, and the source follow; complete removes the source's copies. Until then, reverse"
                    + " goes back without losing a write. run does it all. If interrupted, run any of them again to"
                    + " continue."
        },
        footer = {"", "Example: shardflake move run --shards 0-99,1341 --to db3"})
public final class MoveCommand implements Subcommands {

    @Override
    public List<String> names() {
        return List.of("run", "start", "status", "verify", "cutover", "reverse", "complete", "cancel");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "run" -> new MoveRunCommand();
            case "start" -> new MoveStartCommand();
            case "status" -> new MoveStatusCommand();
            case "verify" -> new MoveVerifyCommand();
            case "cutover" -> new MoveCutoverCommand();
            case "reverse" -> new MoveReverseCommand();
            case "complete" -> new MoveCompleteCommand();
            case "cancel" -> new MoveCancelCommand();
            default -> throw new IllegalArgumentException("no command move " + name);
        };
    }
}
