/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shardflake.cluster.PostgresClusterContract.execute;
import static org.shardflake.cluster.PostgresClusterContract.query;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a cluster promises beyond that when it runs the servers itself. */
interface OwnedClusterContract extends PostgresClusterContract {
    PostgresProvider provider();

    /** Processes, containers and files that are left of a cluster; the trace is what {@link ChildCluster} prints. */
    List<String> remains(String trace);

    @Override
    default PostgresCluster.Builder builder() {
        return PostgresCluster.builder().provider(provider());
    }

    @Test
    default void aCrashKeepsCommittedRowsAndTheUrl() throws SQLException {
        try (PostgresCluster cluster = builder().servers(1).start()) {
            PostgresServer server = cluster.server(0);
            String uri = server.uri("postgres");
            for (Runnable end : List.<Runnable>of(server::crash, server::kill)) {
                execute(
                        server,
                        "DROP TABLE IF EXISTS kept; CREATE TABLE kept AS SELECT generate_series(1, 1000) AS id");
                try (Connection cut = server.connect()) {
                    end.run();
                    assertThat(cut.isValid(1)).isFalse();
                }
                assertThatThrownBy(server::connect).isInstanceOf(SQLException.class);

                server.start();

                assertThat(server.uri("postgres")).isEqualTo(uri);
                assertThat(query(server, "SELECT count(*) FROM kept")).isEqualTo("1000");
            }
            assertThat(query(server, "SHOW wal_level")).isEqualTo("logical");
        }
    }

    @Test
    default void stopsAndStartsWithASessionOpen() throws SQLException {
        try (PostgresCluster cluster = builder().servers(1).start();
                Connection open = cluster.server(0).connect()) {
            PostgresServer server = cluster.server(0);
            assertThat(server.canRestart()).isTrue();
            execute(server, "CREATE TABLE kept ()");

            server.stop();
            server.stop();
            assertThatThrownBy(server::connect).isInstanceOf(SQLException.class);
            assertThat(open.isValid(1)).isFalse();
            server.start();
            server.start();

            assertThat(query(server, "SELECT count(*) FROM kept")).isEqualTo("0");
        }
    }

    @Test
    default void takesSettings() {
        try (PostgresCluster cluster =
                builder().servers(1).setting("work_mem", "7MB").durable(true).start()) {
            PostgresServer server = cluster.server(0);
            assertThat(query(server, "SHOW work_mem")).isEqualTo("7MB");
            assertThat(query(server, "SHOW fsync")).isEqualTo("on");
            assertThat(query(server, "SHOW synchronous_commit")).isEqualTo("on");
        }
        try (PostgresCluster cluster = builder().servers(1).start()) {
            assertThat(query(cluster.server(0), "SHOW fsync")).isEqualTo("off");
        }
    }

    @Test
    default void closingLeavesNothingBehind() {
        PostgresCluster cluster = builder().servers(2).start();
        String trace = ChildCluster.trace(cluster);
        assertThat(remains(trace)).isNotEmpty();
        cluster.server(1).crash();

        cluster.close();

        assertThat(remains(trace)).isEmpty();
        assertThatThrownBy(cluster.server(0)::start)
                .isInstanceOf(PostgresClusterException.class)
                .hasMessageContaining("has been closed");
    }

    @ParameterizedTest
    @ValueSource(strings = {"INT", "TERM"})
    @DisabledOnOs(OS.WINDOWS)
    default void aSignalLeavesNothingBehind(String signal, @TempDir Path directory) throws Exception {
        try (ChildCluster child = ChildCluster.launch(directory, "postgres.provider=" + provider())) {
            String trace = child.awaitTrace();
            assertThat(remains(trace)).isNotEmpty();

            child.signal(signal);

            assertThat(remains(trace)).isEmpty();
        }
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    default void aServerThatDoesNotStartSaysWhy() {
        PostgresCluster.Builder builder = builder().servers(1).setting("work_mem", "nonsense");

        assertThatThrownBy(builder::start)
                .isInstanceOf(PostgresClusterException.class)
                .hasMessageContaining("db1")
                .hasMessageContaining("invalid value for parameter \"work_mem\": \"nonsense\"");
    }
}
