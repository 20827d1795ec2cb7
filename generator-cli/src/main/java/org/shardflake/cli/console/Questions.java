/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.shardflake.CliCommand;
import org.shardflake.PublicIds;
import org.shardflake.ShardflakeException;
import org.shardflake.move.MoveStatus;

/** What the console asks commands, so that it says what they do. */
public interface Questions {

    /**
     * What doctor finds; takes seconds.
     *
     * @throws ShardflakeException if it cannot be found out
     */
    List<Map<String, Object>> findings() throws InterruptedException;

    /**
     * Which shards have another schema than most, and which changesets they have had; takes seconds.
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

    /** The facts of a move. */
    Map<String, Object> move(MoveStatus status);

    /** What reads public ids, if there is a key. */
    Optional<PublicIds> publicIds();

    /** A whole command to copy. */
    ShownCommand command(CliCommand command);
}
