/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;

class InParallelTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    /** It may only be about to begin when the first fails. */
    @Test
    void theSecondQueryEndsWhenTheFirstHasFailed() throws SQLException {
        CountDownLatch failed = new CountDownLatch(1);
        try (Connection first = postgres.database(0).connect();
                Connection second = postgres.database(0).connect()) {
            assertThatThrownBy(() -> InParallel.both(first, second, connection -> {
                        if (connection == first) {
                            failed.countDown();
                            return Sql.number(connection, "SELECT 1 / 0");
                        }
                        await(failed);
                        return Sql.number(connection, "SELECT 1 FROM pg_sleep(20)");
                    }))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("division by zero")
                    .satisfies(e -> assertThat(e.getSuppressed())
                            .singleElement()
                            .isInstanceOfSatisfying(
                                    SQLException.class,
                                    cancelled ->
                                            assertThat(cancelled.getSQLState()).isEqualTo("57014")));
            assertThat(Sql.number(second, "SELECT 1")).isOne();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
            Thread.sleep(500); // After the first has failed, too.
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
