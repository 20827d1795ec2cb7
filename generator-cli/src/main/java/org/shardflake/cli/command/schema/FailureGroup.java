/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.schema;

import static java.util.stream.Collectors.collectingAndThen;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toList;

import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.shardflake.ShardSet;
import org.shardflake.deploy.ShardFailure;

/**
 * Shards that failed in the same way, reported once.
 *
 * @param shards by server
 * @param sql the SQL for the first of them
 * @param error the error of the first of them
 */
record FailureGroup(Map<String, ShardSet> shards, String changeSet, String sql, String error) {

    /** Failures grouped by cause over all servers, in the order of their first shards. */
    static List<FailureGroup> of(Collection<ShardFailure> failures) {
        Map<List<String>, List<ShardFailure>> equal = failures.stream()
                .sorted(Comparator.comparingInt(ShardFailure::shard))
                .collect(groupingBy(ShardFailure::kind, LinkedHashMap::new, toList()));
        return equal.values().stream().map(FailureGroup::group).toList();
    }

    /** Failures grouped by server and cause. */
    static List<FailureGroup> byServer(Collection<ShardFailure> failures) {
        Map<String, List<ShardFailure>> servers =
                failures.stream().collect(groupingBy(ShardFailure::server, TreeMap::new, toList()));
        return servers.values().stream().flatMap(its -> of(its).stream()).toList();
    }

    int size() {
        return shards.values().stream().mapToInt(ShardSet::size).sum();
    }

    private static FailureGroup group(List<ShardFailure> equal) {
        ShardFailure first = equal.get(0);
        Map<String, ShardSet> shards = equal.stream()
                .collect(groupingBy(
                        ShardFailure::server,
                        TreeMap::new,
                        mapping(ShardFailure::shard, collectingAndThen(toList(), ShardSet::of))));
        return new FailureGroup(shards, first.changeSet(), first.sql(), first.error());
    }
}
