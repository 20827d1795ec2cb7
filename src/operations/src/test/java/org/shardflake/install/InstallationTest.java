/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.sql.Connection;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.IdLayout;
import org.shardflake.LayoutMismatchException;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;

class InstallationTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(5);

    private static Server server(int position) {
        return new Server("db" + (position + 1), postgres.database(position).uri());
    }

    private static ServerUrl url(int position) {
        return ServerUrl.parse(postgres.database(position).uri());
    }

    private static ShardMap map(int... positions) {
        return ShardMap.initial(
                new Sharding(20),
                IdLayout.DEFAULT,
                IntStream.of(positions).mapToObj(InstallationTest::server).toList(),
                Spread.CONTIGUOUS);
    }

    /** As the documentation of the package has it. */
    @Test
    void setsUpAndAddsAServer() throws Exception {
        Installation installation = Installation.at(url(0));
        installation.create(map(0, 1), "the first servers");
        ShardMap map = installation.add(server(2), "more room");

        assertThat(map.servers()).containsExactly(server(0), server(1), server(2));
        assertThat(ShardCatalog.at(url(0)).load()).isEqualTo(map);
        for (Server server : map.servers()) {
            try (Connection connection = ServerUrl.parse(server.url()).connect("a test")) {
                assertThat(Sql.isTrue(connection, "SELECT shardflake.library_version() > 0"))
                        .isTrue();
            }
        }
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> installation.create(map(0, 1), "once more"))
                .withMessageContaining("has a shard map already, at version 2")
                .satisfies(e -> assertThat(e.kind()).isEqualTo(Kind.PRECONDITION));
    }

    @Test
    void aServerOfAnotherEpochIsRefusedBeforeAnythingIsChanged() throws Exception {
        try (Connection connection = postgres.database(4).connect()) {
            FunctionLibrary.deploy(connection, 1_000_000_000_000L);
        }

        assertThatExceptionOfType(LayoutMismatchException.class)
                .isThrownBy(() -> Installation.at(url(3)).create(map(3, 4), "the first servers"));
        try (Connection connection = postgres.database(3).connect()) {
            assertThat(Sql.list(
                            connection,
                            "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'shardflake%'",
                            row -> row.getString(1)))
                    .isEqualTo(List.of());
        }
    }

    @Test
    void aServerThatIsNotThereIsSaidWithItsAddress() {
        Installation nowhere = Installation.at(ServerUrl.parse("postgresql://app@127.0.0.1:1/app"));

        assertThatExceptionOfType(ServerFailedException.class)
                .isThrownBy(nowhere::deployCatalog)
                .withMessageStartingWith("cannot reach server 127.0.0.1:1")
                .satisfies(e -> assertThat(e.hint()).isPresent());
    }
}
