/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.Server;
import org.shardflake.ShardflakeException;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

class CommitLatencyTest {

    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final Duration MINUTE = Duration.ofMinutes(1);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    private static void set(String standbys) throws SQLException {
        try (Connection connection = postgres.database(0).connect()) {
            Sql.execute(connection, "ALTER SYSTEM SET synchronous_standby_names = '%s'".formatted(standbys));
            Sql.execute(connection, "SELECT pg_reload_conf()");
        }
    }

    private static Map<String, CommitLatency> measure(Duration over, Duration patience) throws InterruptedException {
        String uri = postgres.database(0).uri();
        return CommitLatency.measure(
                List.of(new Server("db1", uri)), server -> ServerUrl.parse(server.url()), over, patience);
    }

    @AfterEach
    void waitForNoStandby() throws SQLException {
        set("");
    }

    @Test
    void hasTheLeastAndTheMost() throws InterruptedException {
        CommitLatency latency = Objects.requireNonNull(measure(SECOND, MINUTE).get("db1"));

        assertThat(latency.least()).isPositive().isLessThanOrEqualTo(latency.most());
    }

    @Test
    void doesNotWaitForeverForAStandbyThatIsGone() throws SQLException {
        set("nobody");

        assertThatThrownBy(() -> measure(MINUTE, SECOND))
                .isInstanceOf(ShardflakeException.class)
                .hasMessageStartingWith("cannot measure the commits of server db1: ");
    }
}
