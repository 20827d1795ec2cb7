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

/**
 * Where the rows are: shard n on server n modulo the number of servers, and how many connections each candidate may have
 * to one.
 */
record Layout(List<Server> servers, int shards, int poolSize) {

    /** As {@code ShardRouterBuilder.cachedStatements} has it; every candidate has as many. */
    private static final int CACHED_STATEMENTS = 1000;

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
        List<HikariDataSource> pools = new ArrayList<>();
        for (Server server : servers) {
            pools.add(new HikariDataSource(poolConfig(server)));
        }
        return pools;
    }

    HikariConfig poolConfig(Server server) {
        PGSimpleDataSource source = ServerUrl.parse(server.url()).dataSource();
        source.setTcpKeepAlive(true);
        source.setPreparedStatementCacheQueries(CACHED_STATEMENTS);
        source.setPreparedStatementCacheSizeMiB(CACHED_STATEMENTS / 100);
        HikariConfig config = new HikariConfig();
        // Not the data source itself: ShardingSphere wants to read the URL.
        config.setJdbcUrl(source.getURL());
        config.setUsername(source.getUser());
        config.setPassword(source.getPassword());
        config.setMaximumPoolSize(poolSize);
        return config;
    }
}
