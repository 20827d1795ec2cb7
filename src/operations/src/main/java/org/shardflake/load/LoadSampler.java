/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.jdbc.Sql;
import org.shardflake.load.EachServer.Answer;
import org.shardflake.server.ServerUrl;

/**
 * Samples reads and writes of each shard, as counted by PostgreSQL: one query per server, which takes no lock on a table and needs no
 * privilege. Only primaries are asked. Thread-safe; holds no connection between calls.
 *
 * <p>A session adds to the counters when a transaction of its ends, at most once a second; what it did just before it became idle may
 * take it 10 seconds. So a rate over a few seconds is a rough one.
 */
public final class LoadSampler {

    /**
     * A query with a row for each shard of the server that runs it: its number, and rows inserted, updated, deleted and read.
     *
     * <p>The functions behind pg_stat_user_tables, which joins and groups for the sake of columns not needed here, and takes half as long again. As
     * there, an index counts rows fetched for its table.
     */
    public static final String COUNTERS = """
            SELECT substring(n.nspname FROM 7)::integer,
                   sum(pg_stat_get_tuples_inserted(c.oid))::bigint,
                   sum(pg_stat_get_tuples_updated(c.oid))::bigint,
                   sum(pg_stat_get_tuples_deleted(c.oid))::bigint,
                   sum(pg_stat_get_tuples_fetched(c.oid)
                       + CASE WHEN c.relkind = 'i' THEN 0 ELSE pg_stat_get_tuples_returned(c.oid) END)::bigint
              FROM pg_namespace AS n
              JOIN pg_class AS c ON c.relnamespace = n.oid
             WHERE n.nspname ~ '^shard_[0-9]{4}$' AND c.relkind IN ('r', 'm', 'i')
             GROUP BY n.nspname
            """;

    private final Function<Server, ServerUrl> urls;
    private final Map<Server, ServerUrl> known = new HashMap<>();

    /** @param urls the URL of a server of the shard map, including what is needed to log in */
    public LoadSampler(Function<Server, ServerUrl> urls) {
        this.urls = urls;
    }

    /**
     * Reads the counters of all shards, from all servers concurrently.
     *
     * @return also if servers cannot be read: it says which
     */
    public LoadSample sample(ShardMap map) throws InterruptedException {
        Map<Integer, ShardCounters> shards = new TreeMap<>();
        Map<String, String> problems = new TreeMap<>();
        List<Server> servers = map.servers().stream()
                .filter(server -> !map.shards(server).isEmpty())
                .toList();
        EachServer.ask(servers, this::url, (connection, server) -> read(connection, server, map))
                .forEach((server, answer) -> add(server, answer, shards, problems));
        return new LoadSample(shards, problems);
    }

    private static void add(
            Server server,
            Answer<Map<Integer, ShardCounters>> answer,
            Map<Integer, ShardCounters> shards,
            Map<String, String> problems) {
        if (answer.result() == null) {
            problems.put(server.name(), answer.problem());
        } else {
            shards.putAll(answer.result());
        }
    }

    /** The URL of a server, always as the same object, since the object remembers what its connections found out. */
    private synchronized ServerUrl url(Server server) {
        return known.computeIfAbsent(server, urls);
    }

    private static Map<Integer, ShardCounters> read(Connection connection, Server server, ShardMap map)
            throws SQLException {
        if (!Sql.isTrue(connection, "SELECT current_setting('track_counts')::boolean")) {
            throw new SQLException("track_counts is off, so it counts nothing");
        }
        Map<Integer, RowCounts> counted = new HashMap<>();
        Sql.list(connection, COUNTERS, row -> counted.put(row.getInt(1), RowCounts.read(row)));
        long now = System.nanoTime();
        Map<Integer, ShardCounters> shards = new HashMap<>();
        map.shards(server).stream().forEach(shard -> {
            RowCounts rows = counted.getOrDefault(shard, RowCounts.NONE);
            shards.put(
                    shard, new ShardCounters(server.name(), map.placement(shard).epoch(), now, rows));
        });
        return shards;
    }
}
