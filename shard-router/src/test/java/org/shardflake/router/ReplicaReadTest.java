/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.sql.FunctionLibrary;

/**
 * A server whose URL names two hosts: one that takes writes, and one that the driver takes for a standby, since its
 * database is read-only. Each says in a row which one it is.
 */
class ReplicaReadTest {

    private static final ShardKey SHARD = ShardKey.shard(0);

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(2).prepareOnce("library", FunctionLibrary::deploy);

    private static ShardRouter router;

    @BeforeAll
    static void start() throws SQLException {
        PhotoShards both = PhotoShards.create(postgres, 2, 2);
        for (int server = 0; server < 2; server++) {
            TestDatabase database = postgres.database(server);
            PhotoShards.createShards(database, ShardSet.of(1 - server));
            both.execute(
                    server,
                    "INSERT INTO shard_0000.photo (id, uid, title) VALUES (1, 0, '%s')"
                            .formatted(server == 0 ? "standby" : "primary"));
        }
        both.execute(
                0,
                "ALTER DATABASE %s SET default_transaction_read_only = on"
                        .formatted(postgres.database(0).name()));

        String url = "postgresql://%s,%s/%s"
                .formatted(hostAndPort(0), hostAndPort(1), postgres.database(0).name());
        ShardMap map =
                ShardMap.initial(new Sharding(2), IdLayout.DEFAULT, List.of(new Server("db1", url)), Spread.CONTIGUOUS);
        router = both.router().map(map).build();
    }

    @AfterAll
    static void close() {
        router.close();
    }

    private static String hostAndPort(int server) {
        return postgres.database(server).jdbcUrl().replaceFirst("^jdbc:postgresql://([^/]*)/.*$", "$1");
    }

    @Test
    void writesGoToTheHostThatIsThePrimary() throws SQLException {
        assertThat(router.<String, SQLException>write(SHARD, ReplicaReadTest::title))
                .isEqualTo("primary");
    }

    @Test
    void readsGoToThePrimaryUnlessTheyMayBeBehind() throws SQLException {
        assertThat(router.<String, SQLException>read(SHARD, ReplicaReadTest::title))
                .isEqualTo("primary");
        assertThat(router.<String, SQLException>readReplica(SHARD, ReplicaReadTest::title))
                .isEqualTo("standby");
    }

    @Test
    void queriesOverManyShardsGoToReplicasWhenTheyMay() {
        ShardQuery<String> titles =
                ShardQuery.of("SELECT id, title FROM ${shard.schema}.photo", row -> row.getString("title"));

        assertThat(router.fetch(List.of(1024L), titles)).isEqualTo(Map.of());
        assertThat(router.newest(1, titles)).containsExactly("primary");
        assertThat(router.newest(1, titles.onReplicas())).containsExactly("standby");
    }

    private static String title(ShardTransaction tx) throws SQLException {
        try (Statement statement = tx.connection().createStatement();
                ResultSet row = statement.executeQuery("SELECT title FROM shard_0000.photo")) {
            row.next();
            return row.getString(1);
        }
    }
}
