/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import picocli.CommandLine.Command;

/** {@code shardflake move}: shards from one live server to another. */
@Command(
        name = "move",
        description = {
            "Moves shards between live servers, with the application writing all along.",
            "start copies them and makes the target follow; cutover makes the target take the writes, shard by shard, and the"
                    + " source follow; complete removes the source's copies. Until then reverse goes back, without losing a write. run does it all."
                    + " Interrupted, any of them goes on where it was when it is run again."
        },
        footer = {"", "Example: shardflake move run --shards 0-99,1341 --to db3"})
public final class MoveCommand {}
