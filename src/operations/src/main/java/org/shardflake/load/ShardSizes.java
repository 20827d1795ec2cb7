/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Sql;
import org.shardflake.load.EachServer.Answer;
import org.shardflake.server.ServerUrl;

/**
 * The size in bytes of each shard on its server: its tables with their indexes and TOAST.
 *
 * <p>PostgreSQL asks the file system for each of their files, under a lock on the table that only ALTER TABLE, TRUNCATE, VACUUM FULL and
 * the like wait for, and that is released at once.
 */
public final class ShardSizes {

    private static final String QUERY = """
            SELECT n.nspname, sum(pg_total_relation_size(c.oid))::bigint
              FROM pg_namespace AS n
              JOIN pg_class AS c ON c.relnamespace = n.oid
             WHERE n.nspname = ANY (?) AND c.relkind IN ('r', 'm')
             GROUP BY n.nspname
            """;

    private final Map<Integer, Long> bytes = new HashMap<>();

    private ShardSizes() {}

    /**
     * Queries every server that has shards, in parallel.
     *
     * @param urls the URL of a server, including what is needed to log in
     * @throws ShardflakeException if a server cannot be queried
     */
    public static ShardSizes read(ShardMap map, Function<Server, ServerUrl> urls) throws InterruptedException {
        ShardSizes sizes = new ShardSizes();
        ask(map, map::shards, urls).forEach((server, answer) -> {
            if (answer.result() == null) {
                throw new ShardflakeException(
                        "cannot read the sizes of the shards on server %s: %s"
                                .formatted(server.name(), answer.problem()),
                        answer.failure());
            }
            sizes.add(map.shards(server), answer.result());
        });
        return sizes;
    }

    /** The sizes of some shards, without those of servers that cannot be queried. */
    public static ShardSizes of(ShardSet shards, ShardMap map, Function<Server, ServerUrl> urls)
            throws InterruptedException {
        Function<Server, ShardSet> wanted = server ->
                ShardSet.of(shards.stream().filter(map.shards(server)::contains).toArray());
        ShardSizes sizes = new ShardSizes();
        ask(map, wanted, urls).forEach((server, answer) -> {
            if (answer.result() != null) {
                sizes.add(wanted.apply(server), answer.result());
            }
        });
        return sizes;
    }

    private static Map<Server, Answer<Map<String, Long>>> ask(
            ShardMap map, Function<Server, ShardSet> wanted, Function<Server, ServerUrl> urls)
            throws InterruptedException {
        return EachServer.ask(
                map.servers().stream()
                        .filter(server -> !wanted.apply(server).isEmpty())
                        .toList(),
                urls,
                (connection, server) -> read(connection, wanted.apply(server)));
    }

    private static Map<String, Long> read(Connection connection, ShardSet shards) throws SQLException {
        Map<String, Long> bytes = new HashMap<>();
        Sql.list(connection, QUERY, row -> bytes.put(row.getString(1), row.getLong(2)), shards);
        return bytes;
    }

    /** Adds the sizes of shards; one without tables has 0 bytes. */
    private void add(ShardSet shards, Map<String, Long> bytesBySchema) {
        shards.stream().forEach(shard -> bytes.put(shard, bytesBySchema.getOrDefault(Sharding.schema(shard), 0L)));
    }

    /** The bytes of a shard, 0 if unknown. */
    public long bytes(int shard) {
        return bytes.getOrDefault(shard, 0L);
    }

    /** The bytes of all shards, by number. */
    public Map<Integer, Long> all() {
        return Map.copyOf(bytes);
    }
}
