/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.cluster.PostgresStandby;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.CatalogSchema;

/** A catalog with a standby, which its URL lists first. */
@Tag("full")
class CatalogFailoverIT {

    private static final Duration SOON = Duration.ofMinutes(2);

    private PostgresCluster cluster;
    private PostgresServer primary;
    private PostgresStandby standby;
    private String url;

    @BeforeEach
    void start() throws SQLException {
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(1)
                .start();
        primary = cluster.server(0);
        try (Connection connection = primary.connect()) {
            CatalogSchema.deploy(connection);
        }
        standby = cluster.standbyOf(primary);
        url = standby.uriOfBoth("postgres");
        catalog(url)
                .initialize(
                        ShardMap.initial(
                                new Sharding(8),
                                IdLayout.DEFAULT,
                                List.of(server("db1"), server("db2")),
                                Spread.CONTIGUOUS),
                        "a test");
        standby.awaitReplay();
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private static Server server(String name) {
        return new Server(name, "postgresql://postgres@localhost:1/" + name);
    }

    private static ShardCatalog catalog(String url) {
        return ShardCatalog.at(ServerUrl.parse(url));
    }

    private static void place(String url, int shard, String server) {
        catalog(url).place(ShardSet.of(shard), server, "a test");
    }

    private ShardRouterBuilder router() {
        return ShardRouter.builder().catalog(url);
    }

    @Test
    void startsFromAStandbyWhileThePrimaryIsDownAndSaysThatItMayBeBehind() {
        primary.crash();
        try (ShardRouter router = router().pollInterval(Duration.ofMillis(200)).build()) {
            assertThat(router.map().version()).isEqualTo(1);
            assertThat(router.mapHealth().problem())
                    .hasValueSatisfying(
                            problem -> assertThat(problem).startsWith("only a standby of the catalog answers"));

            primary.start();
            place(url, 1, "db2");

            await().atMost(SOON).until(() -> router.map().version() == 2);
            await().atMost(SOON).until(() -> router.mapHealth().problem().isEmpty());
        }
    }

    @Test
    void hearsOfChangesFromTheServerThatTookOver() {
        try (ShardRouter router = router().pollInterval(Duration.ofHours(1)).build()) {
            await().atMost(SOON).until(() -> listeners(primary) == 1);
            primary.crash();
            standby.promote();
            await().atMost(SOON).until(() -> listeners(standby) == 1);

            place(standby.uri("postgres"), 1, "db2");

            await().atMost(SOON).until(() -> router.map().version() == 2);
        }
    }

    @Test
    void keepsTheNewerMapWhenTheServerThatTookOverLacksAChangeAndTakesTheNextOne() throws SQLException {
        try (ShardRouter router = router().pollInterval(Duration.ofMillis(200)).build()) {
            standby.disconnect();
            place(primary.uri("postgres"), 1, "db2");
            await().atMost(SOON).until(() -> router.map().version() == 2);

            primary.crash();
            standby.promote();

            await().atMost(SOON)
                    .until(() -> router.mapHealth().problem().orElse("").contains("went back from version 2 to 1"));
            assertThat(router.map().server(1).name()).isEqualTo("db2");

            // Version 2 again, with another map.
            place(standby.uri("postgres"), 2, "db2");

            await().atMost(SOON).until(() -> router.map().server(2).name().equals("db2"));
            assertThat(router.map().version()).isEqualTo(2);
            assertThat(router.map().server(1).name()).isEqualTo("db1");
            await().atMost(SOON).until(() -> router.mapHealth().problem().isEmpty());
        }
    }

    @Test
    void aChangeIsRefusedByAStandby() {
        assertThat(catchThrowable(() -> place(standby.uri("postgres"), 1, "db2")))
                .hasMessageContaining("is a standby (in recovery)");
    }

    private static long listeners(PostgresServer server) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'shardflake router, listening' AND query LIKE 'LISTEN%' AND state = 'idle'")) {
            row.next();
            return row.getLong(1);
        }
    }
}
