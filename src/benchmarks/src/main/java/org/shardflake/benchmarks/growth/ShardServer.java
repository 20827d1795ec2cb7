/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.growth;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.router.ShardRouter;
import org.shardflake.sql.FunctionLibrary;

/** A server with many shards of ten tables, of which each has three indexes and some rows. */
final class ShardServer implements AutoCloseable {

    static final int TABLES = 10;
    private static final int SHARDS_A_TRANSACTION = 10;

    private final PostgresServer server;
    private final ShardMap map;
    private final Connection observer;

    private ShardServer(PostgresServer server, ShardMap map) throws SQLException {
        this.server = server;
        this.map = map;
        this.observer = server.connect();
    }

    /** Makes shards on the cluster's first server. */
    static ShardServer prepare(PostgresCluster cluster, int shards) throws Exception {
        PostgresServer server = cluster.server(0);
        ShardMap map = ShardMap.initial(
                new Sharding(shards),
                IdLayout.DEFAULT,
                List.of(new Server(
                        "db1", server.uri("postgres").replaceFirst("//[^@/]*@", "//" + server.user() + "@"))),
                Spread.ROUND_ROBIN);
        ShardServer prepared = new ShardServer(server, map);
        FunctionLibrary.deploy(prepared.observer);
        prepared.createShards(shards);
        return prepared;
    }

    private void createShards(int shards) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (int shard = 0; shard < shards; shard++) {
                statement.execute("SELECT shardflake.create_shard(%d)".formatted(shard));
                for (int table = 0; table < TABLES; table++) {
                    statement.execute("""
                            CREATE TABLE %1$s (id bigint PRIMARY KEY, uid bigint NOT NULL, title text);
                            CREATE INDEX ON %1$s (uid);
                            CREATE INDEX ON %1$s (title);
                            INSERT INTO %1$s SELECT n, n, 'a title ' || n FROM generate_series(1, %2$d) n;
                            SELECT shardflake.add_fence('%1$s')
                            """.formatted(Sharding.schema(shard) + ".t" + table, ShardLoad.ROWS));
                }
                if ((shard + 1) % SHARDS_A_TRANSACTION == 0) {
                    connection.commit();
                }
            }
            connection.commit();
            connection.setAutoCommit(true);
            statement.execute("VACUUM ANALYZE");
            statement.execute("CHECKPOINT");
        }
    }

    /** A load by routers with so many connections. */
    ShardLoad load(int connections) {
        return new ShardLoad(
                () -> ShardRouter.builder()
                        .map(map)
                        .credentials(server.user(), server.password())
                        .poolSize(connections)
                        .build(),
                observer,
                TABLES,
                "id");
    }

    /** A connection that takes no part in what is measured. */
    Connection observer() {
        return observer;
    }

    @Override
    public void close() throws SQLException {
        observer.close();
    }
}
