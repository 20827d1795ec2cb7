/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.shardflake.load.ShardRate;
import org.shardflake.watch.InstallationSnapshot;
import org.shardflake.watch.ServerSnapshot;

/**
 * A snapshot, with the rates up to its time.
 *
 * @param shards without those whose rate cannot be known
 * @param servers likewise
 */
record View(InstallationSnapshot snapshot, Map<Integer, ShardRate> shards, Map<String, ShardRate> servers) {

    int shardCount() {
        return snapshot.map().sharding().shardCount();
    }

    /** A shard on the server that the map gives it, if that server answers and has the shard. */
    Optional<ServerSnapshot.Shard> shard(int shard) {
        return Optional.ofNullable(
                        snapshot.servers().get(snapshot.map().server(shard).name()))
                .map(server -> server.shards().get(shard));
    }

    /** The size of a shard's tables with their indexes, if known. */
    OptionalLong bytes(int shard) {
        return shard(shard)
                .map(ServerSnapshot.Shard::load)
                .filter(load -> load.tableBytes().isPresent())
                .map(load -> OptionalLong.of(load.bytes()))
                .orElse(OptionalLong.empty());
    }

    Optional<ShardRate> rate(int shard) {
        return Optional.ofNullable(shards.get(shard));
    }
}
