/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LocalClusterTest {

    @TempDir
    Path directory;

    private LocalCluster cluster;

    @BeforeEach
    void create() {
        cluster = LocalCluster.in(directory.resolve("local"));
    }

    @AfterEach
    void stop() {
        cluster.stop();
    }

    @Test
    @Tag("full")
    void keepsPortsAndRowsOverARestart() throws SQLException {
        assertThat(cluster.exists()).isFalse();
        assertThat(cluster.servers()).isEmpty();

        cluster.start(2);
        List<LocalServer> started = cluster.servers();
        assertThat(started).extracting(LocalServer::name).containsExactly("db1", "db2");
        assertThat(started).allMatch(LocalServer::isRunning);
        query(started.get(1), "CREATE TABLE kept AS SELECT 7 AS n; SELECT 1");

        cluster.stop();
        assertThat(cluster.servers()).noneMatch(LocalServer::isRunning);
        assertThat(cluster.exists()).isTrue();

        LocalCluster again = LocalCluster.in(directory.resolve("local"));
        again.start(1);
        assertThat(again.servers()).isEqualTo(started);
        assertThat(query(started.get(1), "SELECT n FROM kept")).isEqualTo(7);
        again.start(2);
        assertThat(again.servers()).isEqualTo(started);
    }

    @Test
    void refusesACountThatIsNone() {
        assertThatThrownBy(() -> cluster.start(0)).hasMessage("servers 0 is out of range 1..16");
        assertThat(cluster.exists()).isFalse();
    }

    private static int query(LocalServer server, String sql) throws SQLException {
        String url = "jdbc:postgresql://localhost:%s/postgres?user=postgres".formatted(server.port());
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            boolean rows = statement.execute(sql);
            while (!rows) {
                rows = statement.getMoreResults();
            }
            try (ResultSet row = statement.getResultSet()) {
                row.next();
                return row.getInt(1);
            }
        }
    }
}
