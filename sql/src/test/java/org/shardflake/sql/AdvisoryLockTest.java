/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;

class AdvisoryLockTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    @Test
    void whoHoldsItIsNamedAlsoUnderKeysThatAreNegative() throws SQLException {
        try (Connection other = postgres.database(0).connect();
                Statement statement = other.createStatement();
                Connection mine = postgres.database(0).connect()) {
            statement.execute("SET application_name = 'a script'");
            for (int i = 0; i < 4; i++) { // of both signs
                for (AdvisoryLock lock : new AdvisoryLock[] {
                    new AdvisoryLock("work " + i), new AdvisoryLock("work", i), new AdvisoryLock("work " + i, -1 - i)
                }) {
                    assertThat(lock.take(other, Duration.ZERO)).isEmpty();

                    Optional<String> holder = lock.take(mine, Duration.ZERO);

                    assertThat(holder).isPresent();
                    assertThat(holder.get()).matches("process [0-9]+ of role \\w+ \\(a script\\)");
                    lock.release(other);
                    assertThat(lock.take(mine, Duration.ZERO)).isEmpty();
                    lock.release(mine);
                }
            }
        }
    }
}
