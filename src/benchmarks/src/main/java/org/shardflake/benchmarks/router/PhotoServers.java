package org.shardflake.benchmarks.router;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.CatalogSchema;
import org.shardflake.sql.FunctionLibrary;

/**
 * The rows that all candidates read: a table in the schema of each shard and, with the same rows, one for ShardingSphere in
 * the schema public. New ids come from the same function everywhere.
 */
final class PhotoServers {

    private final PostgresCluster cluster;
    private final Layout layout;
    private final List<Photo> photos = new ArrayList<>();

    private PhotoServers(PostgresCluster cluster, Layout layout) {
        this.cluster = cluster;
        this.layout = layout;
    }

    /** Makes tables, rows and the catalog. */
    static PhotoServers prepare(PostgresCluster cluster, int shards, int rowsAShard, int poolSize)
            throws SQLException, InterruptedException, ExecutionException {
        List<Server> servers = cluster.servers().stream()
                .map(server -> new Server(server.name(), server.uri("postgres")))
                .toList();
        PhotoServers prepared = new PhotoServers(cluster, new Layout(servers, shards, poolSize));
        prepared.fill(rowsAShard);
        prepared.initializeCatalog();
        for (int server = 0; server < servers.size(); server++) {
            prepared.load(server);
        }
        return prepared;
    }

    private void initializeCatalog() throws SQLException {
        try (Connection connection = cluster.server(0).connect()) {
            CatalogSchema.deploy(connection);
        }
        ShardMap map = ShardMap.initial(
                new Sharding(layout.shards()), IdLayout.DEFAULT, layout.servers(), Spread.ROUND_ROBIN);
        for (int shard = 0; shard < layout.shards(); shard++) {
            if (!map.server(shard).equals(layout.servers().get(layout.server(shard)))) {
                throw new IllegalStateException("shard %d is elsewhere than the candidates think".formatted(shard));
            }
        }
        ShardCatalog.at(ServerUrl.parse(layout.servers().get(0).url())).initialize(map, "a benchmark");
    }

    /** All servers at once, so that the newest rows are those of many shards of each. */
    private void fill(int rowsAShard) throws SQLException, InterruptedException, ExecutionException {
        for (int server = 0; server < layout.servers().size(); server++) {
            // Liquibase runs once at a time in a JVM.
            try (Connection connection = cluster.server(server).connect()) {
                FunctionLibrary.deploy(connection);
            }
        }
        ExecutorService executor = Executors.newFixedThreadPool(layout.servers().size());
        List<Future<?>> filling = new ArrayList<>();
        for (int server = 0; server < layout.servers().size(); server++) {
            int filled = server;
            filling.add(executor.submit(() -> {
                fill(filled, rowsAShard);
                return null;
            }));
        }
        for (Future<?> one : filling) {
            one.get();
        }
        executor.shutdown();
    }

    private void fill(int server, int rowsAShard) throws SQLException {
        try (Connection connection = cluster.server(server).connect();
                Statement statement = connection.createStatement()) {
            for (int shard : layout.shardsOf(server)) {
                statement.execute("""
                        SELECT shardflake.create_shard(%1$d);
                        CREATE TABLE %2$s (id bigint PRIMARY KEY, uid bigint NOT NULL, title text NOT NULL);
                        SELECT shardflake.add_id_sequence('%2$s'), shardflake.add_fence('%2$s');
                        CREATE TABLE %3$s (
                            id bigint PRIMARY KEY DEFAULT shardflake.next_id(%1$d, '%4$s.id_seq'),
                            uid bigint NOT NULL,
                            title text NOT NULL);
                        """.formatted(
                                shard, Layout.table(shard), ShardingSphere.table(shard), Sharding.schema(shard)));
            }
            // A row of every shard before the next of any, as users come.
            statement.execute("""
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
                            rowsAShard,
                            server,
                            layout.shards() - 1,
                            layout.servers().size(),
                            layout.shards()));
            for (int shard : layout.shardsOf(server)) {
                statement.execute("INSERT INTO %s SELECT id, uid, title FROM %s"
                        .formatted(ShardingSphere.table(shard), Layout.table(shard)));
            }
            statement.execute("VACUUM ANALYZE");
        }
    }

    private void load(int server) throws SQLException {
        try (Connection connection = cluster.server(server).connect();
                Statement statement = connection.createStatement()) {
            for (int shard : layout.shardsOf(server)) {
                try (ResultSet row = statement.executeQuery("SELECT id, uid, title FROM " + Layout.table(shard))) {
                    while (row.next()) {
                        photos.add(Photo.of(row));
                    }
                }
            }
        }
    }

    Layout layout() {
        return layout;
    }

    PostgresCluster cluster() {
        return cluster;
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

    /** Whether a row is where it belongs: on the server of its uid, in a shard's schema or ShardingSphere's table. */
    boolean hasRow(Photo photo) throws SQLException {
        int shard = layout.shardOfUid(photo.uid());
        try (Connection connection = cluster.server(layout.server(shard)).connect();
                PreparedStatement statement = connection.prepareStatement(
                        "SELECT FROM (TABLE %s UNION ALL TABLE %s) AS photo WHERE (id, uid, title) = (?, ?, ?)"
                                .formatted(Layout.table(shard), ShardingSphere.table(shard)))) {
            statement.setLong(1, photo.id());
            statement.setLong(2, photo.uid());
            statement.setString(3, photo.title());
            try (ResultSet row = statement.executeQuery()) {
                return row.next();
            }
        }
    }
}
