/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.shardingsphere.sharding.api.sharding.complex.ComplexKeysShardingAlgorithm;
import org.apache.shardingsphere.sharding.api.sharding.complex.ComplexKeysShardingValue;

/**
 * Tells ShardingSphere the server or the table of a uid or of an id, as its documentation has it for rules that are more
 * than one column's: an algorithm of type {@code CLASS_BASED} with the strategy {@code COMPLEX}.
 */
public final class PhotoSharding implements ComplexKeysShardingAlgorithm<Long> {

    private String prefix = "";
    private long shards;
    private int modulo;

    @Override
    public void init(Properties properties) {
        prefix = Objects.requireNonNull(properties.getProperty("prefix"));
        shards = Long.parseLong(properties.getProperty("shards"));
        modulo = Integer.parseInt(properties.getProperty("modulo"));
    }

    @Override
    public Collection<String> doSharding(Collection<String> available, ComplexKeysShardingValue<Long> asked) {
        Map<String, Collection<Long>> values = asked.getColumnNameAndShardingValuesMap();
        if (values.isEmpty()) {
            return available;
        }
        // In an INSERT the column that it leaves out is there too, with null.
        return Stream.concat(
                        values.getOrDefault("id", Set.of()).stream()
                                .filter(Objects::nonNull)
                                .map(Layout::shardOfId),
                        values.getOrDefault("uid", Set.of()).stream()
                                .filter(Objects::nonNull)
                                .map(uid -> (int) Math.floorMod(uid, shards)))
                .map(shard -> prefix + shard % modulo)
                .distinct()
                // The tables of one server are asked for at a time, with the ids of all.
                .filter(available::contains)
                .toList();
    }
}
