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
public final class PhotoTables {

    /** The tables of a shard, or of the template schema that jOOQ's code is generated from. */
    private static final String TABLES = """
            CREATE TABLE ${shard.schema}.photo (
                id    bigint PRIMARY KEY,
                uid   bigint NOT NULL,
                title text NOT NULL
            );
            CREATE INDEX ON ${shard.schema}.photo (uid, id);

            CREATE TABLE ${shard.schema}."like" (
                id       bigint PRIMARY KEY,
                uid      bigint NOT NULL,
                photo_id bigint NOT NULL REFERENCES ${shard.schema}.photo,
                UNIQUE (photo_id, uid)
            );
            """;

    /** What a shard has besides: ids made by sequences of Shardflake's, and fences that let it move. */
    private static final String IDS_AND_FENCES = """
            SELECT shardflake.add_id_sequence('${shard.schema}.photo'), shardflake.add_fence('${shard.schema}.photo');
            SELECT shardflake.add_id_sequence('${shard.schema}."like"'), shardflake.add_fence('${shard.schema}."like"');
            """;

    private PhotoTables() {}

    /** Creates 8 shards in turn over two servers, and returns a router to them, which the caller closes. */
    public static ShardRouter create(PostgresExtension postgres) throws SQLException {
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
                statement.execute("SELECT shardflake.create_shard(%s)".formatted(shard));
                statement.execute(in(Sharding.schema(shard), TABLES + IDS_AND_FENCES));
            }
        }
    }

    /** The tables as SQL for a schema. */
    public static String tablesIn(String schema) {
        return in(schema, TABLES);
    }

    private static String in(String schema, String sql) {
        return sql.replace("${shard.schema}", schema);
    }

    /** Deletes the rows of all shards. */
    public static void empty(ShardRouter router) throws SQLException {
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
