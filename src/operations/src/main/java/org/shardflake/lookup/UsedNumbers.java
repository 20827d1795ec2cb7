/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.shardflake.ShardKey;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;

/** Collects the lookup numbers for which shards have claims or marks. For many threads. */
final class UsedNumbers {

    /** Finds the numbers with one index probe each, however many claims there are. */
    private static final String NUMBERS = """
            WITH RECURSIVE used (lookup) AS (
                SELECT min(lookup) FROM ${shard.schema}.shardflake_lookup
                 UNION ALL
                SELECT (SELECT min(l.lookup) FROM ${shard.schema}.shardflake_lookup l WHERE l.lookup > u.lookup) FROM used u WHERE u.lookup IS NOT NULL)
            SELECT u.lookup, EXISTS (SELECT FROM ${shard.schema}.shardflake_lookup l WHERE l.lookup = u.lookup AND l.value = '' AND l.member = '')
              FROM used u WHERE u.lookup IS NOT NULL
            """;

    private final ShardRouter router;
    private final Set<Integer> undropped = new TreeSet<>();
    private int highest;

    UsedNumbers(ShardRouter router) {
        this.router = router;
    }

    /** Reads the numbers in a shard; without lookups, a shard lacks the tables for them. */
    void read(int shard) throws SQLException {
        List<Map.Entry<Integer, Boolean>> numbers = router.<List<Map.Entry<Integer, Boolean>>, SQLException>write(
                ShardKey.shard(shard),
                tx -> Sql.isTrue(
                                tx.connection(),
                                tx.sql("SELECT to_regclass('${shard.schema}.shardflake_lookup') IS NULL"))
                        ? List.of()
                        : Sql.list(
                                tx.connection(), tx.sql(NUMBERS), row -> Map.entry(row.getInt(1), row.getBoolean(2))));
        add(numbers);
    }

    private synchronized void add(List<Map.Entry<Integer, Boolean>> numbers) {
        for (Map.Entry<Integer, Boolean> number : numbers) {
            highest = Math.max(highest, number.getKey());
            if (!number.getValue()) {
                undropped.add(number.getKey());
            }
        }
    }

    /** The highest number, or 0 without any. */
    synchronized int highest() {
        return highest;
    }

    /** The lookup numbers that have claims in a shard without the mark of a dropped lookup. */
    synchronized Set<Integer> undropped() {
        return Set.copyOf(undropped);
    }
}
