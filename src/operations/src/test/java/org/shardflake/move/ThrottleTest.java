/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.internal.session.Sleep;
import org.shardflake.server.ServerUrl;

class ThrottleTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @Test
    void bytesTakeTheTimeThatTheRateGivesThem() throws SQLException {
        try (Connection target = postgres.database(0).connect()) {
            Throttle throttle = new Throttle(
                    new MoveLimits(1_000_000, 0),
                    Duration.ofSeconds(10),
                    Duration.ofMinutes(1),
                    target,
                    MoveListener.NONE);
            long start = System.nanoTime();

            for (int i = 0; i < 20; i++) {
                throttle.copied(50_000);
            }

            assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(850));
        }
    }

    @Test
    void noRateIsNoLimit() throws SQLException {
        try (Connection target = postgres.database(0).connect()) {
            Throttle throttle = new Throttle(
                    new MoveLimits(0, 0), Duration.ofSeconds(10), Duration.ofMinutes(1), target, MoveListener.NONE);
            Thread.currentThread().interrupt(); // Whoever waits fails.
            try {
                throttle.copied(Long.MAX_VALUE);
            } finally {
                assertThat(Thread.interrupted()).isTrue();
            }
        }
    }

    /** A subscriber stands for the standby: both are in pg_stat_replication, and what is applied there is held up by a lock. */
    @Test
    @Tag("full")
    void waitsForAStandbyThatIsStuckAndGoesOnWithIt() throws Exception {
        try (Connection target = postgres.database(0).connect();
                Connection standby = postgres.database(1).connect();
                Connection holder = postgres.database(1).connect()) {
            Sql.execute(target, "CREATE TABLE t (id bigint PRIMARY KEY); CREATE PUBLICATION throttle FOR TABLE t");
            Sql.execute(standby, "CREATE TABLE t (id bigint PRIMARY KEY)");
            Sql.execute(
                    standby,
                    "CREATE SUBSCRIPTION throttle CONNECTION %s PUBLICATION throttle WITH (copy_data = false)"
                            .formatted(Sql.quote(
                                    ServerUrl.parse(postgres.database(0).uri()).conninfo())));
            try {
                Throttle throttle = new Throttle(
                        new MoveLimits(0, 0), Duration.ofMillis(500), Duration.ofMinutes(1), target, MoveListener.NONE);
                insert(target, 1);
                await().atMost(Duration.ofMinutes(2)).until(() -> Sql.number(standby, "SELECT count(*) FROM t") == 1);
                throttle.copied(1);

                holder.setAutoCommit(false);
                Sql.execute(holder, "LOCK TABLE t");
                insert(target, 2);
                CompletableFuture<Void> waiting = CompletableFuture.runAsync(() -> lookThrice(throttle));
                assertThatThrownBy(() -> waiting.get(5, TimeUnit.SECONDS)).isInstanceOf(TimeoutException.class);

                holder.commit();
                waiting.get(2, TimeUnit.MINUTES);
            } finally {
                Sql.execute(standby, "DROP SUBSCRIPTION throttle");
            }
        }
    }

    private static void insert(Connection target, int id) throws SQLException {
        Sql.execute(target, "INSERT INTO t VALUES (%s)".formatted(id));
    }

    /** Far enough apart for each to look. */
    private static void lookThrice(Throttle throttle) {
        try {
            for (int i = 0; i < 3; i++) {
                Sleep.millis(1100);
                throttle.copied(1);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }
}
