/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;

class StreamTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    @Test
    void aPasswordIsNeitherInErrorsNorInWhatTheServerLogs() throws SQLException {
        try (Connection connection = postgres.database(0).connect()) {
            connection.setAutoCommit(false);

            Throwable refused = catchThrowable(() -> Stream.createSubscription(
                    connection, "shardflake_test", "host='localhost' port='1' password='geheim'", ""));

            StringWriter trace = new StringWriter();
            refused.printStackTrace(new PrintWriter(trace));
            assertThat(trace.toString())
                    .contains("could not connect to the publisher")
                    .doesNotContain("geheim");
        }
    }

    /** What of a statement is logged, and when, is decided by these; they go back when the transaction ends. */
    @Test
    void logsNothingWhileASubscriptionIsMade() throws SQLException {
        try (Connection connection = postgres.database(0).connect()) {
            String url = postgres.database(0).uri();
            connection.setAutoCommit(false);

            Stream.createSubscription(connection, "shardflake_test", url, "");

            assertThat(Sql.list(
                            connection,
                            "SELECT current_setting(name) FROM unnest('{log_statement,log_min_duration_statement,log_min_messages,log_min_error_statement}'::text[]) name",
                            row -> row.getString(1)))
                    .isEqualTo(List.of("none", "-1", "panic", "panic"));
            connection.rollback();
            assertThat(Sql.text(connection, "SELECT current_setting('log_min_messages')"))
                    .isEqualTo("warning");
        }
    }
}
