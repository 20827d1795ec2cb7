/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.shardflake.ShardflakeException;

class PollTest {

    @Test
    void asksUntilTheConditionHolds() throws SQLException {
        AtomicInteger asked = new AtomicInteger();

        assertThat(Poll.everyMillis(1, Duration.ofMinutes(1)).until(() -> asked.incrementAndGet() == 3))
                .isTrue();
        assertThat(asked).hasValue(3);
    }

    @Test
    void endsWhenItsTimeIsOver() throws SQLException {
        AtomicInteger asked = new AtomicInteger();

        assertThat(Poll.everyMillis(1, Duration.ZERO).until(() -> asked.incrementAndGet() < 0))
                .isFalse();
        assertThat(asked.get()).isPositive();
    }

    @Test
    void leavesTheInterruptFlagAsItWas() {
        Thread.currentThread().interrupt();
        try {
            assertThatThrownBy(() -> Poll.everyMillis(1, Duration.ofMinutes(1)).until(() -> false))
                    .isInstanceOf(ShardflakeException.class)
                    .hasMessageStartingWith("interrupted");
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
    }
}
