/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.benchmarks.report.Sessions;
import org.shardflake.benchmarks.router.Peer.Photo;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;

/** The rows that all candidates read: a table in the schema of each shard and, with the same rows in a separate database, one for ShardingSphere. */
final class PhotoServers {

    /** The function that Instagram published, for ids without Shardflake, here for all tables. */
    private static final String PUBLISHED_FUNCTION = """
            CREATE FUNCTION next_id(shard_id integer, table_id_seq regclass, OUT result bigint) AS $$
            DECLARE
                our_epoch bigint := %d;
                seq_id bigint;
                now_millis bigint;
            BEGIN
                SELECT nextval(table_id_seq) %% 1024 INTO seq_id;
                SELECT FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) INTO now_millis;
                result := (now_millis - our_epoch) << 23;
                result := result | (shard_id << 10);
                result := result | (seq_id);
            END;
            $$ LANGUAGE plpgsql;
            CREATE FUNCTION insert_photo(photos text, id bigint, uid bigint, title text) RETURNS void AS $$
            BEGIN
                EXECUTE format('INSERT INTO %%I (id, uid, title) VALUES ($1, $2, $3)', photos) USING id, uid, title;
            END;
            $$ LANGUAGE plpgsql""".formatted(FunctionLibrary.DEFAULT_EPOCH_MILLIS);

    private final PostgresCluster cluster;
    private final Layout layout;
    private final List<Photo> photos = new ArrayList<>();

    private PhotoServers(PostgresCluster cluster, Layout layout) {
        this.cluster = cluster;
        this.layout = layout;
    }

    /** Makes tables, rows and the catalog. */
    static PhotoServers prepare(PostgresCluster cluster, int shards, int rowsAShard, int poolSize) throws Exception {
        List<Server> servers = cluster.servers().stream()
                .map(server -> new Server(server.name(), server.uri(Layout.DATABASE)))
                .toList();
        PhotoServers prepared = new PhotoServers(cluster, new Layout(servers, shards, poolSize));
        prepared.install();
        prepared.fill(rowsAShard);
        for (int server = 0; server < servers.size(); server++) {
            prepared.load(server);
            prepared.copyForShardingSphere(server);
        }
        return prepared;
    }

    private void install() {
        ShardMap map =
                ShardMap.initial(new Sharding(layout.shards()), IdLayout.DEFAULT, layout.servers(), Spread.ROUND_ROBIN);
        for (int shard = 0; shard < layout.shards(); shard++) {
            if (!map.server(shard).equals(layout.servers().get(layout.server(shard)))) {
                throw new IllegalStateException("shard %d is elsewhere than the candidates think".formatted(shard));
            }
        }
        Installation.at(ServerUrl.parse(layout.servers().get(0).url())).create(map, "a benchmark");
    }

    /** All servers at once, so that the newest rows are those of many shards of each. */
    private void fill(int rowsAShard) throws Exception {
        Sessions.run(layout.servers().size(), (server, start) -> {
            fill(server, rowsAShard);
            return server;
        });
    }

    private void fill(int server, int rowsAShard) throws SQLException {
        try (Connection connection = cluster.server(server).connect()) {
            for (int shard : layout.shardsOf(server)) {
                Sql.execute(connection, """
                        SELECT shardflake.create_shard(%1$d);
                        CREATE TABLE %2$s (id bigint PRIMARY KEY, uid bigint NOT NULL, title text NOT NULL);
                        SELECT shardflake.add_id_sequence('%2$s'), shardflake.add_fence('%2$s');
                        """.formatted(shard, Layout.table(shard)));
            }
            // A row of every shard before the next of any, as users come.
            Sql.execute(connection, """
                    DO $$
                    BEGIN
                        FOR r IN 1..%1$d LOOP
                            FOR s IN %2$d..%3$d BY %4$d LOOP
                                EXECUTE format('INSERT INTO %%I.photo (uid, title) VALUES ($1, $2)',
                                               shardflake.shard_schema(s))
                                USING s + %5$d * r, format('photo %%s of %%s', r, s);
                            END LOOP;
                        END LOOP;
                    END $$""".formatted(
                    rowsAShard, server, layout.shards() - 1, layout.servers().size(), layout.shards()));
            Sql.execute(connection, "VACUUM ANALYZE");
        }
    }

    private void load(int server) throws SQLException {
        try (Connection connection = cluster.server(server).connect()) {
            for (int shard : layout.shardsOf(server)) {
                photos.addAll(Sql.list(connection, "SELECT id, uid, title FROM " + Layout.table(shard), Photo::of));
            }
        }
    }

    /** Copies the same rows into a separate database, since ShardingSphere reads everything in a database when it starts. */
    private void copyForShardingSphere(int server) throws SQLException {
        try (Connection connection = cluster.server(server).connect()) {
            Sql.execute(connection, "CREATE DATABASE " + ShardingSphere.DATABASE);
        }
        try (Connection connection = cluster.server(server).connect(ShardingSphere.DATABASE)) {
            Sql.execute(connection, PUBLISHED_FUNCTION);
            for (int shard : layout.shardsOf(server)) {
                Sql.execute(connection, """
                        CREATE SEQUENCE %2$s_id_seq;
                        CREATE TABLE %2$s (
                            id bigint PRIMARY KEY DEFAULT next_id(%1$d, '%2$s_id_seq'),
                            uid bigint NOT NULL,
                            title text NOT NULL);
                        """.formatted(shard, ShardingSphere.actualTable(shard)));
            }
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("SELECT insert_photo(?, ?, ?, ?)")) {
                for (Photo photo : photos) {
                    int shard = Layout.shardOfId(photo.id());
                    if (layout.server(shard) == server) {
                        insert.setString(1, ShardingSphere.actualTable(shard));
                        insert.setLong(2, photo.id());
                        insert.setLong(3, photo.uid());
                        insert.setString(4, photo.title());
                        insert.addBatch();
                    }
                }
                insert.executeBatch();
            }
            connection.commit();
            connection.setAutoCommit(true);
            Sql.execute(connection, "VACUUM ANALYZE");
        }
    }

    Layout layout() {
        return layout;
    }

    /** A connection to the first server. */
    Connection connect() throws SQLException {
        return cluster.server(0).connect();
    }

    /** The rows that are there before anybody inserts. */
    List<Photo> photos() {
        return photos;
    }

    /** The newest of them, the newest first. */
    List<Photo> newest(int limit) {
        return photos.stream()
                .sorted(Comparator.comparingLong(Photo::id).reversed())
                .limit(limit)
                .toList();
    }

    /** Whether a row that a candidate inserted is where it belongs. */
    boolean hasRow(RouterCandidate candidate, Photo photo) throws SQLException {
        int shard = layout.shardOfUid(photo.uid());
        try (Connection connection = cluster.server(layout.server(shard)).connect(candidate.database())) {
            return Sql.isTrue(
                    connection,
                    "SELECT EXISTS (SELECT FROM %s WHERE (id, uid, title) = (?, ?, ?))"
                            .formatted(candidate.table(shard)),
                    photo.id(),
                    photo.uid(),
                    photo.title());
        }
    }
}
