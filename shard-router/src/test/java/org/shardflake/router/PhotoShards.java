/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.stream.IntStream;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.CatalogSchema;

/** Shards with a table photo, laid out in turn over the test databases of a {@link PostgresExtension}. */
public final class PhotoShards {

    private static final int SHARDS_A_TRANSACTION = 200;

    private final List<TestDatabase> databases;
    private final ShardMap map;

    private PhotoShards(List<TestDatabase> databases, int shards) {
        this.databases = databases;
        this.map = ShardMap.initial(
                new Sharding(shards),
                IdLayout.DEFAULT,
                databases.stream().map(PhotoShards::server).toList(),
                Spread.ROUND_ROBIN);
    }

    /** The shards, with the function library on every server already. */
    public static PhotoShards create(PostgresExtension postgres, int servers, int shards) throws SQLException {
        List<TestDatabase> databases =
                IntStream.range(0, servers).mapToObj(postgres::database).toList();
        PhotoShards created = new PhotoShards(databases, shards);
        for (TestDatabase database : databases) {
            createShards(database, created.map.shards(server(database)));
        }
        return created;
    }

    /** Creates the schemas of shards with their table, some in a transaction, as locks are limited. */
    public static void createShards(TestDatabase database, ShardSet shards) throws SQLException {
        int[] numbers = shards.stream().toArray();
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (int i = 0; i < numbers.length; i++) {
                String schema = Sharding.schema(numbers[i]);
                statement.execute(
                        "SELECT shardflake.create_shard(%s); CREATE TABLE %2$s.photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text); SELECT shardflake.add_id_sequence('%2$s.photo'); SELECT shardflake.add_fence('%2$s.photo')"
                                .formatted(numbers[i], schema));
                if (i % SHARDS_A_TRANSACTION == 0) {
                    connection.commit();
                }
            }
            connection.commit();
        }
    }

    /** A test database as a server of the map, its URL without password; named by its position. */
    public static Server server(TestDatabase database) {
        return new Server(database.server().name(), database.jdbcUrl().replaceFirst("^jdbc:", ""));
    }

    /** Puts the map into a catalog and returns it. */
    public ShardCatalog catalogIn(TestDatabase database) throws SQLException {
        try (Connection connection = database.connect()) {
            CatalogSchema.deploy(connection);
        }
        ShardCatalog catalog = ShardCatalog.at(ServerUrl.parse(database.uri()));
        catalog.initialize(map, "a test");
        return catalog;
    }

    public ShardMap map() {
        return map;
    }

    public TestDatabase database(int server) {
        return databases.get(server);
    }

    /** A router that may log in, with the map still to be given. */
    public ShardRouterBuilder router() {
        return ShardRouter.builder()
                .credentials(
                        databases.get(0).server().user(),
                        databases.get(0).server().password());
    }

    /** The one number that a query gives on a server. */
    public long number(int server, String sql) throws SQLException {
        try (Connection connection = databases.get(server).connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    public void execute(int server, String sql) throws SQLException {
        try (Connection connection = databases.get(server).connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
