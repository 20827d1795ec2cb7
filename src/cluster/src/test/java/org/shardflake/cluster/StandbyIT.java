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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("full")
class StandbyIT {

    @Test
    void followsLagsAndTakesOver() throws SQLException {
        try (PostgresCluster cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(1)
                .start()) {
            PostgresServer primary = cluster.server(0);
            execute(primary, "CREATE TABLE seen (id int)");
            execute(primary, "INSERT INTO seen VALUES (1)");

            PostgresStandby standby = cluster.standbyOf(primary);

            standby.awaitReplay();
            assertThat(rows(standby)).isEqualTo(1);
            assertThatThrownBy(() -> execute(standby, "INSERT INTO seen VALUES (2)"))
                    .hasMessageContaining("read-only transaction");

            standby.pauseReplay();
            execute(primary, "INSERT INTO seen VALUES (2)");
            assertThat(rows(standby)).isEqualTo(1);
            standby.resumeReplay();
            standby.awaitReplay();
            assertThat(rows(standby)).isEqualTo(2);

            primary.crash();
            standby.promote();
            execute(standby, "INSERT INTO seen VALUES (3)");
            assertThat(rows(standby)).isEqualTo(3);
        }
    }

    private static int rows(PostgresServer server) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT count(*) FROM seen")) {
            row.next();
            return row.getInt(1);
        }
    }

    private static void execute(PostgresServer server, String sql) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
