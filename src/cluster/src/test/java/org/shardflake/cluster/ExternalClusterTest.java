/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shardflake.cluster.PostgresClusterContract.query;

import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The servers of another cluster, given by URL. */
class ExternalClusterTest implements PostgresClusterContract {
    private static PostgresCluster running;

    @BeforeAll
    static void start() {
        running = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(3)
                .start();
    }

    @AfterAll
    static void stop() {
        running.close();
    }

    @Override
    public PostgresCluster.Builder builder() {
        return PostgresCluster.builder()
                .provider(PostgresProvider.EXTERNAL)
                .urls(List.of(
                        running.server(0).jdbcUrl("postgres") + "?user=postgres",
                        running.server(1).uri("postgres"),
                        running.server(2).uri("postgres") + "?sslmode=disable"));
    }

    @Test
    void closingLeavesTheServersAlone() {
        builder().servers(1).start().close();

        assertThat(query(running.server(0), "SELECT 1")).isEqualTo("1");
    }

    @Test
    void keepsParametersInItsUrls() {
        try (PostgresCluster cluster = builder().servers(3).start()) {
            assertThat(cluster.server(2).jdbcUrl("x")).endsWith("/x?sslmode=disable");
            assertThat(cluster.server(2).uri("x")).endsWith("/x?sslmode=disable");
        }
    }

    @Test
    void refusesToStopOrStartTheServers() {
        try (PostgresCluster cluster = builder().servers(1).start()) {
            PostgresServer server = cluster.server(0);
            assertThat(server.canRestart()).isFalse();
            assertThatThrownBy(server::crash).isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(server::stop).isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(server::start)
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("given by URL");
        }
    }

    @Test
    void needsAUrlForEachServer() {
        assertThatThrownBy(builder().servers(4)::start)
                .isInstanceOf(PostgresClusterException.class)
                .hasMessage("no URL for db4: postgres.urls names 3 servers");
    }

    @Test
    void refusesAServerWithoutLogicalReplication() {
        try (PostgresCluster cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(1)
                .setting("wal_level", "replica")
                .start()) {
            PostgresCluster.Builder builder = PostgresCluster.builder()
                    .provider(PostgresProvider.EXTERNAL)
                    .servers(1)
                    .urls(List.of(cluster.server(0).uri("postgres")));

            assertThatThrownBy(builder::start)
                    .isInstanceOf(PostgresClusterException.class)
                    .hasMessageContaining("has wal_level = replica, but needs logical");
        }
    }

    @Test
    void saysWhichServerCannotBeReached() {
        PostgresCluster.Builder builder = PostgresCluster.builder()
                .provider(PostgresProvider.EXTERNAL)
                .servers(1)
                .urls(List.of("postgresql://someone:secret@localhost:1/"));

        assertThatThrownBy(builder::start)
                .isInstanceOf(PostgresClusterException.class)
                .hasMessageContaining("db1 (localhost:1)")
                .message()
                .doesNotContain("secret");
    }
}
