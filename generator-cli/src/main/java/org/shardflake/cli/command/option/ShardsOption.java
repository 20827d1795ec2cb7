/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cli.error.CliException;

/** An option value such as {@code 0-99,1341}, which names shards of a shard map. */
public final class ShardsOption {

    private ShardsOption() {}

    public static ShardSet parse(String text, ShardMap map) {
        try {
            return ShardSet.parse(text, map.sharding().shardCount());
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }
}
