/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.pool;

import com.zaxxer.hikari.HikariConfig;
import java.time.Duration;
import java.util.function.BiConsumer;
import org.shardflake.Server;
import org.shardflake.router.internal.map.Login;

/** The settings that all pools of a router share. */
public record PoolSettings(
        int size,
        Duration connectionTimeout,
        Duration statementTimeout,
        int cachedStatements,
        Login login,
        BiConsumer<Server, HikariConfig> customizer) {}
