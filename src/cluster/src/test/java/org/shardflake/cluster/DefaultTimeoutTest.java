/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The parent POM gives every test of every module a limit. */
class DefaultTimeoutTest {

    @RegisterExtension
    static final Parameters parameters = new Parameters();

    @Test
    void aTestThatHangsFails() {
        assertThat(parameters.timeout)
                .hasValueSatisfying(timeout -> assertThat(timeout).matches("\\d+ m"));
        assertThat(Thread.currentThread().getName()).startsWith("junit-timeout-thread");
    }

    private static final class Parameters implements BeforeAllCallback {
        private Optional<String> timeout = Optional.empty();

        @Override
        public void beforeAll(ExtensionContext context) {
            timeout = context.getConfigurationParameter("junit.jupiter.execution.timeout.default");
        }
    }
}
