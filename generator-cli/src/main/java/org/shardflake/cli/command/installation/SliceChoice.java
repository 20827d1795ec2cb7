/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cli.command.option.ShardsOption;
import org.shardflake.cli.error.CliException;
import picocli.CommandLine.Option;

/** The options that choose the shards to leave the old database, or to come back. */
final class SliceChoice {

    @Option(names = "--shards", paramLabel = "SHARDS", description = "These shards, such as 0-99,1341.")
    private @Nullable String shards;

    @Option(
            names = "--percent",
            paramLabel = "N",
            description = "This share of all shards, those with the lowest numbers: 0 to 100.")
    private @Nullable Integer percent;

    ShardSet of(ShardMap map) {
        if (shards != null) {
            return ShardsOption.parse(shards, map);
        }
        if (percent == null || percent < 0 || percent > 100) {
            throw CliException.usage("--percent %s is out of range 0..100".formatted(percent));
        }
        int count = map.sharding().shardCount();
        return percent == 0 ? ShardSet.of() : ShardSet.range(0, (count * percent + 99) / 100 - 1);
    }
}
