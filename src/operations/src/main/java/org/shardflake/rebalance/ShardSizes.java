/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.server.ServerUrl;

/** The size in bytes of each shard on its server: its tables with their indexes and TOAST. */
public final class ShardSizes {

    /** Measuring a table takes a lock that ALTER TABLE blocks, and a plan is not worth a long wait. */
    private static final String PATIENCE = "SET lock_timeout = '10s'";

    private static final String QUERY = """
            SELECT n.nspname, sum(pg_total_relation_size(c.oid))::bigint
              FROM pg_namespace AS n
              JOIN pg_class AS c ON c.relnamespace = n.oid
             WHERE n.nspname = ANY (?) AND c.relkind IN ('r', 'm')
             GROUP BY n.nspname
            """;

    private final Map<String, Long> bytesBySchema;

    private ShardSizes(Map<String, Long> bytesBySchema) {
        this.bytesBySchema = bytesBySchema;
    }

    /**
     * Queries every server that has shards, in parallel.
     *
     * @param urls the URL of a server, including what is needed to log in
     * @throws RebalanceException if a server cannot be queried
     */
    public static ShardSizes read(ShardMap map, Function<Server, ServerUrl> urls) throws InterruptedException {
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            Map<Server, Future<Map<String, Long>>> tasks = new HashMap<>();
            for (Server server : map.servers()) {
                ShardSet shards = map.shards(server);
                if (!shards.isEmpty()) {
                    ServerUrl url = urls.apply(server);
                    tasks.put(server, threads.submit(() -> read(url, shards)));
                }
            }
            Map<String, Long> bytes = new HashMap<>();
            for (Server server : map.servers()) {
                Future<Map<String, Long>> task = tasks.get(server);
                if (task != null) {
                    bytes.putAll(result(server, task));
                }
            }
            return new ShardSizes(bytes);
        } finally {
            threads.shutdownNow();
        }
    }

    private static Map<String, Long> result(Server server, Future<Map<String, Long>> task) throws InterruptedException {
        try {
            return task.get();
        } catch (ExecutionException e) {
            throw new RebalanceException(
                    "cannot read the sizes of the shards on server %s: %s\n  Hint: a plan by count needs no sizes"
                            .formatted(
                                    server.name(),
                                    e.getCause() == null ? e : e.getCause().getMessage()),
                    e);
        }
    }

    private static Map<String, Long> read(ServerUrl url, ShardSet shards) throws SQLException {
        List<String> schemas = new ArrayList<>();
        shards.stream().forEach(shard -> schemas.add(Sharding.schema(shard)));
        try (Connection connection = url.connect("shardflake rebalance");
                Statement patience = connection.createStatement();
                PreparedStatement query = connection.prepareStatement(QUERY)) {
            patience.execute(PATIENCE);
            query.setArray(1, connection.createArrayOf("text", schemas.toArray()));
            Map<String, Long> bytes = new HashMap<>();
            try (ResultSet row = query.executeQuery()) {
                while (row.next()) {
                    bytes.put(row.getString(1), row.getLong(2));
                }
            }
            return bytes;
        }
    }

    /** The bytes of a shard, 0 if it has no tables. */
    public long bytes(int shard) {
        return bytesBySchema.getOrDefault(Sharding.schema(shard), 0L);
    }
}
