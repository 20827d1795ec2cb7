/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class SystemPropertiesTest {
    @Test
    void namesTheProviders() {
        assertThat(PostgresProvider.parse("auto")).isEqualTo(PostgresProvider.AUTO);
        assertThatThrownBy(() -> PostgresProvider.parse("docker"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "unknown postgres.provider \"docker\"," + " allowed: auto, embedded, testcontainers, external");
    }

    @Test
    void namesTheVersions() {
        assertThatThrownBy(() -> PostgresCluster.builder().version(14))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("unknown postgres.version \"14\", allowed: 15, 16, 17, 18");
    }

    @Test
    void needsAtLeastOneServer() {
        assertThatThrownBy(() -> PostgresCluster.start(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("servers is 0, allowed: 1 or more");
    }
}
