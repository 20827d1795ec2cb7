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

/** The console's queries, which commands answer, so that both give the same answers. */
public interface Questions {

    /**
     * The doctor's findings; takes seconds.
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
     * The time when the shard map first gave a server one of some shards, or gave one to another server; empty if one of the shards has been in
     * its place from the beginning.
     *
     * @throws ShardflakeException if the catalog cannot be read
     */
    Optional<Instant> placedAt(String server, ShardSet shards);

    /** The facts of a move. */
    Map<String, Object> move(MoveStatus status);

    /** The reader of public ids, if a key is set. */
    Optional<PublicIds> publicIds();

    /** The complete text of a command, to copy. */
    ShownCommand command(CliCommand command);
}
