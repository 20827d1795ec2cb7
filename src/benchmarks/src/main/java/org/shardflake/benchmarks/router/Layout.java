/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.Sharding;
import org.shardflake.server.ServerUrl;

/** The placement of rows: shard n on server n modulo the number of servers, and the number of connections that each candidate may have to one. */
record Layout(List<Server> servers, int shards, int poolSize) {

    /** The database with the schemas of the shards and the catalog. */
    static final String DATABASE = "postgres";

    /** The size of the statement cache; it and those below are defaults of {@code ShardRouterBuilder}. */
    static final int CACHED_STATEMENTS = 4000;

    private static final int MOST_TEXT_MEGABYTES = 8;
    private static final int PREPARED_AT_USE = 2;

    private static final long CONNECTION_TIMEOUT_MILLIS = 5000;
    private static final int STATEMENT_TIMEOUT_SECONDS = 60;

    int shardOfUid(long uid) {
        return (int) Math.floorMod(uid, (long) shards);
    }

    static int shardOfId(long id) {
        return IdLayout.shard(id);
    }

    int server(int shard) {
        return shard % servers.size();
    }

    List<Integer> shardsOf(int server) {
        return IntStream.range(0, shards)
                .filter(shard -> server(shard) == server)
                .boxed()
                .toList();
    }

    /** The name of the table in a shard's own schema. */
    static String table(int shard) {
        return Sharding.schema(shard) + ".photo";
    }

    /** A pool for each server, set up as the router sets up its own. */
    List<HikariDataSource> pools() {
        return pools(servers);
    }

    /** The same in another database of each server. */
    List<HikariDataSource> pools(String database) {
        return pools(servers.stream()
                .map(server ->
                        new Server(server.name(), server.url().replaceFirst("/[^/?]*(\\?|$)", "/" + database + "$1")))
                .toList());
    }

    private List<HikariDataSource> pools(List<Server> servers) {
        List<HikariDataSource> pools = new ArrayList<>();
        for (Server server : servers) {
            pools.add(new HikariDataSource(poolConfig(server)));
        }
        return pools;
    }

    HikariConfig poolConfig(Server server) {
        PGSimpleDataSource source = source(server);
        HikariConfig config = new HikariConfig();
        // Not the data source itself: ShardingSphere wants to read the URL.
        config.setJdbcUrl(source.getURL());
        config.setUsername(source.getUser());
        config.setPassword(source.getPassword());
        config.setMaximumPoolSize(poolSize);
        config.setConnectionTimeout(CONNECTION_TIMEOUT_MILLIS);
        config.setInitializationFailTimeout(-1);
        return config;
    }

    static PGSimpleDataSource source(Server server) {
        PGSimpleDataSource source = ServerUrl.parse(server.url()).dataSource();
        source.setTcpKeepAlive(true);
        source.setCancelSignalTimeout(1);
        source.setOptions("-c statement_timeout=" + STATEMENT_TIMEOUT_SECONDS * 1000);
        source.setSocketTimeout(STATEMENT_TIMEOUT_SECONDS + 10);
        source.setPreparedStatementCacheQueries(CACHED_STATEMENTS);
        source.setPreparedStatementCacheSizeMiB(MOST_TEXT_MEGABYTES);
        source.setPrepareThreshold(PREPARED_AT_USE);
        return source;
    }
}
