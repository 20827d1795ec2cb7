/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What every cluster promises, wherever its servers come from. */
interface PostgresClusterContract {
    /** A builder of the provider under test. */
    PostgresCluster.Builder builder();

    @Test
    default void startsDistinctServersWithLogicalReplication() throws SQLException {
        try (PostgresCluster cluster = builder().servers(3).start()) {
            assertThat(cluster.servers()).extracting(PostgresServer::name).containsExactly("db1", "db2", "db3");
            assertThat(cluster.servers())
                    .extracting(server -> query(server, "SELECT system_identifier::text FROM pg_control_system()"))
                    .doesNotHaveDuplicates();
            for (PostgresServer server : cluster.servers()) {
                assertThat(query(server, "SHOW wal_level")).isEqualTo("logical");
                assertThat(query(server, "SHOW synchronous_commit")).isEqualTo("on");
                assertThat(query(server, "SHOW max_prepared_transactions")).isNotEqualTo("0");
                assertThat(query(server, "SHOW server_version")).startsWith(server.majorVersion() + ".");
            }
        }
    }

    @Test
    default void oneServerCanSubscribeToAnother() throws Exception {
        try (PostgresCluster cluster = builder().servers(2).start()) {
            PostgresServer source = cluster.server(0);
            PostgresServer target = cluster.server(1);
            execute(source, "CREATE TABLE contract_row (id bigint PRIMARY KEY)", "INSERT INTO contract_row VALUES (7)");
            execute(source, "CREATE PUBLICATION contract FOR TABLE contract_row");
            execute(target, "CREATE TABLE contract_row (id bigint PRIMARY KEY)");
            execute(
                    target,
                    "CREATE SUBSCRIPTION contract CONNECTION '" + source.uri("postgres") + "' PUBLICATION contract");
            try {
                long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
                while (!"1".equals(query(target, "SELECT count(*) FROM contract_row"))) {
                    assertThat(System.nanoTime()).as("waits for the row").isLessThan(deadline);
                    Thread.sleep(50);
                }
            } finally {
                execute(target, "DROP SUBSCRIPTION contract", "DROP TABLE contract_row");
                execute(source, "DROP PUBLICATION contract", "DROP TABLE contract_row");
            }
        }
    }

    @Test
    default void closesTwice() {
        PostgresCluster cluster = builder().servers(1).start();
        cluster.close();
        cluster.close();
    }

    @Test
    default void saysWhichServersThereAre() {
        try (PostgresCluster cluster = builder().servers(1).start()) {
            assertThatThrownBy(() -> cluster.server(1))
                    .isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("server 1 is out of range 0..0");
        }
    }

    static void execute(PostgresServer server, String... statements) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    static String query(PostgresServer server, String sql) {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        } catch (SQLException e) {
            throw new IllegalStateException(server + ": " + sql, e);
        }
    }
}
