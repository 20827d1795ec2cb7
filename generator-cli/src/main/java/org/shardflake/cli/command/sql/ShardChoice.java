/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.sql;

import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeId;
import org.shardflake.cli.command.option.ServerNames;
import org.shardflake.cli.error.CliException;
import picocli.CommandLine.Option;

/** The options that choose the shards of a statement; exactly one is required. */
final class ShardChoice {

    @Option(names = "--all-shards", description = "All shards; so does a query without any of these.")
    private boolean all;

    @Option(names = "--shards", paramLabel = "SHARDS", description = "These shards, such as 0-99,1341.")
    private @Nullable String shards;

    @Option(
            names = "--server",
            paramLabel = "NAME",
            completionCandidates = ServerNames.class,
            description = "The shards that this server has now.")
    private @Nullable String server;

    @Option(names = "--uid", paramLabel = "N", description = "The shard of a numeric sharding key.")
    private @Nullable Long uid;

    @Option(names = "--id", paramLabel = "N", description = "The shard of a Shardflake id.")
    private @Nullable String id;

    @Option(names = "--key", paramLabel = "TEXT", description = "The shard of a text sharding key.")
    private @Nullable String key;

    ShardSet of(ShardMap map) {
        if (all) {
            return all(map);
        }
        if (server != null) {
            ShardSet its = map.shards(map.server(server));
            if (its.isEmpty()) {
                throw CliException.usage("server %s has no shards".formatted(server));
            }
            return its;
        }
        try {
            return shards != null ? ShardSet.parse(shards, map.sharding().shardCount()) : ShardSet.of(map.shard(key()));
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    static ShardSet all(ShardMap map) {
        return ShardSet.range(0, map.sharding().shardCount() - 1);
    }

    private ShardKey key() {
        if (uid != null) {
            return ShardKey.uid(uid);
        }
        return id != null ? ShardKey.id(ShardflakeId.parse(id).value()) : ShardKey.uid(String.valueOf(key));
    }
}
