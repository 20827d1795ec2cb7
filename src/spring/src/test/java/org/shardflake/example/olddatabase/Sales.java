/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import java.util.Map;
import java.util.TreeMap;
import org.shardflake.ShardKey;
import org.shardflake.spring.ShardTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;

/** A report over all users. It asks for one shard after the other, wherever that is: the old tables have the rows of all. */
class Sales {

    private final ShardTemplate shards;
    private final JdbcClient jdbc;

    Sales(ShardTemplate shards, JdbcClient jdbc) {
        this.shards = shards;
        this.jdbc = jdbc;
    }

    /** The number of items that were ordered, by category. */
    public Map<String, Integer> byCategory() {
        Map<String, Integer> all = new TreeMap<>();
        for (int shard = 0; shard < OldShop.SHARDS; shard++) {
            int its = shard;
            shards.read(
                            ShardKey.shard(shard),
                            () -> jdbc.sql("""
                            SELECT c.name, count(*) items
                              FROM orders o JOIN items i ON i.order_id = o.id
                              JOIN reference.products p ON p.id = i.product_id JOIN reference.categories c ON c.id = p.category_id
                             WHERE o.user_id % ? = ? GROUP BY c.name
                            """)
                                    .params(OldShop.SHARDS, its)
                                    .query((row, number) -> Map.entry(row.getString(1), row.getInt(2)))
                                    .list())
                    .forEach(one -> all.merge(one.getKey(), one.getValue(), Integer::sum));
        }
        return all;
    }
}
