/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.map;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.shardflake.server.PasswordSource;

final class TimedPasswordsTest {

    private static final PasswordSource.Login LOGIN = new PasswordSource.Login("db1", 5432, "app", "app");

    @Test
    void aSourceThatHangsIsGivenUpAndInterrupted() throws Exception {
        CountDownLatch interrupted = new CountDownLatch(1);
        TimedPasswords passwords = new TimedPasswords(
                login -> {
                    try {
                        new CountDownLatch(1).await();
                    } catch (InterruptedException e) {
                        interrupted.countDown();
                        throw e;
                    }
                    return "never";
                },
                Duration.ofMillis(50));

        assertThatThrownBy(() -> passwords.password(LOGIN))
                .isInstanceOf(TimeoutException.class)
                .hasMessageContaining("did not answer within 50 ms");
        interrupted.await();
    }
}
