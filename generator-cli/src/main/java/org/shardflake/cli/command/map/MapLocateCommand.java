/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.map;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardflakeId;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.output.TableWriter;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake map locate}: finds the shard and server of a key or id. */
@Command(
        name = "locate",
        description = "Shows the shard that a uid, an id or a text key leads to, and its server.",
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be reached, or failed",
            "2:the command line is wrong, or there is no such shard",
            "4:there is no catalog"
        },
        footer = {"", "Example: shardflake map locate --uid 31341 -o json"})
final class MapLocateCommand implements Runnable {

    @ArgGroup(multiplicity = "1")
    private Target target;

    static final class Target {
        @Option(names = "--shard", paramLabel = "N", description = "The number of the shard.")
        private @Nullable Integer shard;

        @Option(names = "--uid", paramLabel = "N", description = "A numeric sharding key.")
        private @Nullable Long uid;

        @Option(names = "--id", paramLabel = "N", description = "A Shardflake id.")
        private @Nullable String id;

        @Option(names = "--key", paramLabel = "TEXT", description = "A text sharding key; its hash is the uid.")
        private @Nullable String key;

        ShardKey shardKey() {
            if (uid != null) {
                return ShardKey.uid(uid);
            }
            return id != null ? ShardKey.id(ShardflakeId.parse(id).value()) : ShardKey.uid(String.valueOf(key));
        }
    }

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        catalog.onlyReads();
        ShardPlacement placement = placement();
        output.print(facts(placement), () -> table(placement));
    }

    /** The placement of the given shard or key; a number must be below the actual number of shards, not only below the possible one. */
    private ShardPlacement placement() {
        if (target.shard != null) {
            return catalog.catalog().load().placement(target.shard);
        }
        ShardKey key = key();
        ShardMap map = catalog.catalog().load();
        return map.placement(map.shard(key));
    }

    private ShardKey key() {
        try {
            return target.shardKey();
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    private static Map<String, Object> facts(ShardPlacement placement) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("shard", placement.shard());
        facts.put("schema", placement.schema());
        facts.put("server", placement.server().name());
        facts.put("epoch", placement.epoch());
        return facts;
    }

    private static String table(ShardPlacement placement) {
        return new TableWriter("SHARD", "SCHEMA", "SERVER", "EPOCH")
                .row(placement.shard(), placement.schema(), placement.server().name(), placement.epoch())
                .toString();
    }
}
