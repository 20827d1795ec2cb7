/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.pool;

import com.zaxxer.hikari.HikariConfig;
import java.time.Duration;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.router.internal.map.Login;
import org.shardflake.router.internal.session.OldDatabase;

/**
 * The settings that all pools of a router share.
 *
 * @param oldDatabase where shards may still be that have not left it
 */
public record PoolSettings(
        int size,
        Duration connectionTimeout,
        Duration statementTimeout,
        int cachedStatements,
        Login login,
        BiConsumer<Server, HikariConfig> customizer,
        @Nullable OldDatabase oldDatabase) {}
