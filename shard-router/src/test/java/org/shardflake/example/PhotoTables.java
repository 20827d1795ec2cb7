/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.router.PhotoShards;
import org.shardflake.router.ShardRouter;

/** The tables of the example, in every shard. */
final class PhotoTables {

    /** A shard's own tables; ids are made by sequences of Shardflake's, and fences let the shard move. */
    private static final String DDL = """
            SELECT shardflake.create_shard(${shard});

            CREATE TABLE ${shard.schema}.photo (
                id    bigint PRIMARY KEY,
                uid   bigint NOT NULL,
                title text NOT NULL
            );
            CREATE INDEX ON ${shard.schema}.photo (uid, id);
            SELECT shardflake.add_id_sequence('${shard.schema}.photo');
            SELECT shardflake.add_fence('${shard.schema}.photo');

            CREATE TABLE ${shard.schema}."like" (
                id       bigint PRIMARY KEY,
                uid      bigint NOT NULL,
                photo_id bigint NOT NULL REFERENCES ${shard.schema}.photo,
                UNIQUE (photo_id, uid)
            );
            SELECT shardflake.add_id_sequence('${shard.schema}."like"');
            SELECT shardflake.add_fence('${shard.schema}."like"');
            """;

    private PhotoTables() {}

    /** Creates 8 shards in turn over two servers, and returns a router to them, which the caller closes. */
    static ShardRouter create(PostgresExtension postgres) throws SQLException {
        List<TestDatabase> databases = List.of(postgres.database(0), postgres.database(1));
        List<Server> servers = databases.stream().map(PhotoShards::server).toList();
        ShardMap map = ShardMap.initial(new Sharding(8), IdLayout.DEFAULT, servers, Spread.ROUND_ROBIN);
        for (int i = 0; i < servers.size(); i++) {
            createShards(databases.get(i), map.shards(servers.get(i)).stream().toArray());
        }
        return ShardRouter.builder()
                .map(map)
                .credentials(
                        databases.get(0).server().user(),
                        databases.get(0).server().password())
                .build();
    }

    private static void createShards(TestDatabase database, int[] shards) throws SQLException {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            for (int shard : shards) {
                statement.execute(DDL.replace("${shard}", String.valueOf(shard))
                        .replace("${shard.schema}", Sharding.schema(shard)));
            }
        }
    }

    /** Deletes the rows of all shards. */
    static void empty(ShardRouter router) throws SQLException {
        for (int shard = 0; shard < router.map().sharding().shardCount(); shard++) {
            router.run(ShardKey.shard(shard), tx -> {
                try (Statement statement = tx.connection().createStatement()) {
                    statement.execute(
                            tx.sql("DELETE FROM ${shard.schema}.\"like\"; DELETE FROM ${shard.schema}.photo"));
                }
            });
        }
    }

    /** How many users like a photo. */
    static long likes(ShardRouter router, long photoId) throws SQLException {
        return router.<Long, SQLException>read(ShardKey.id(photoId), tx -> {
            try (Statement statement = tx.connection().createStatement();
                    ResultSet row = statement.executeQuery(
                            tx.sql("SELECT count(*) FROM ${shard.schema}.\"like\" WHERE photo_id = " + photoId))) {
                row.next();
                return row.getLong(1);
            }
        });
    }
}
