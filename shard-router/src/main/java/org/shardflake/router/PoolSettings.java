/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import com.zaxxer.hikari.HikariConfig;
import java.time.Duration;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;

/** What all of a router's pools have in common. */
record PoolSettings(
        int size,
        Duration connectionTimeout,
        int cachedStatements,
        @Nullable String user,
        @Nullable String password,
        BiConsumer<Server, HikariConfig> customizer) {

    /** Without the password. */
    @Override
    public String toString() {
        return "PoolSettings[size=%d, connectionTimeout=%s]".formatted(size, connectionTimeout);
    }
}
