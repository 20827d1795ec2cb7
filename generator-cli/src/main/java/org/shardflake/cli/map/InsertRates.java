/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.map;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/** Measures how many rows are inserted into shards, by PostgreSQL's own counters, which lag by up to a second. */
public final class InsertRates {

    private static final String INSERTED =
            "SELECT COALESCE(sum(n_tup_ins), 0) FROM pg_stat_user_tables WHERE schemaname ~ '^shard_[0-9]{4}$'";

    private static final long MILLIS = 3000;

    private InsertRates() {}

    /**
     * Rows per second by server, over three seconds.
     *
     * @param urls the URLs of the servers
     */
    public static Map<String, Double> measure(ShardMap map, Map<String, ServerUrl> urls)
            throws SQLException, InterruptedException {
        Map<String, Long> before = count(map, urls);
        long start = System.nanoTime();
        Thread.sleep(MILLIS);
        Map<String, Long> after = count(map, urls);
        double seconds = (System.nanoTime() - start) / 1e9;
        Map<String, Double> rates = new HashMap<>();
        after.forEach((server, rows) -> rates.put(server, (rows - before.getOrDefault(server, rows)) / seconds));
        return rates;
    }

    private static Map<String, Long> count(ShardMap map, Map<String, ServerUrl> urls) throws SQLException {
        Map<String, Long> counts = new HashMap<>();
        for (Server server : map.servers()) {
            ServerUrl url = urls.get(server.name());
            if (url != null) {
                try (Connection connection = url.connect("shardflake map")) {
                    counts.put(server.name(), Sql.number(connection, INSERTED));
                }
            }
        }
        return counts;
    }
}
