/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cli.command.option.ShardsOption;
import org.shardflake.cli.error.CliException;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.Move;
import picocli.CommandLine.Option;

/** The options that choose a move and some of its shards. */
final class MoveShardsMixin extends MoveIdMixin {

    @Option(
            names = "--shards",
            paramLabel = "SHARDS",
            description = "Only these shards, such as 0-99,1341 (default: all of the move).")
    private @Nullable String shards;

    /** The shards that the user has chosen, or all shards of the move. */
    ShardSet of(Move move, ShardMap map) {
        if (shards == null) {
            return move.shardSet();
        }
        ShardSet wanted = ShardsOption.parse(shards, map);
        if (!wanted.stream().allMatch(move.shardSet()::contains)) {
            throw CliException.usage("%s in move %s, which has %s"
                    .formatted(Plural.shards(wanted, "is not", "are not all"), move.id(), move.shardSet()));
        }
        return wanted;
    }
}
