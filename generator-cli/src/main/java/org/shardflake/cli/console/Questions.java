/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.shardflake.CliCommand;
import org.shardflake.PublicIds;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.move.MoveStatus;

/** The queries that the console runs through commands, so that both give the same answers. */
public interface Questions {

    /**
     * The findings of doctor; takes seconds.
     *
     * @throws ShardflakeException if it cannot be found out
     */
    List<Map<String, Object>> findings() throws InterruptedException;

    /**
     * The shards whose schema differs from the majority, with their changesets; takes seconds.
     *
     * @throws ShardflakeException if it cannot be found out
     */
    Map<String, Object> schemas();

    /**
     * The latest changes of the shard map, the newest first.
     *
     * @throws ShardflakeException if the catalog cannot be read
     */
    List<Map<String, Object>> history();

    /**
     * When the shard map first gave a server one of some shards, or gave it to another; empty if one of them has been in its place from the beginning.
     *
     * @throws ShardflakeException if the catalog cannot be read
     */
    Optional<Instant> placedAt(String server, ShardSet shards);

    /** The facts of a move. */
    Map<String, Object> move(MoveStatus status);

    /** The reader of public ids, if there is a key. */
    Optional<PublicIds> publicIds();

    /** A whole command to copy. */
    ShownCommand command(CliCommand command);
}
