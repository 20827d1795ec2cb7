/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.io.Serial;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** A thread without a shard used the application's {@code DataSource}, or a transaction on it. */
final class NoShardException extends SQLException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final @Nullable OtherFramework framework;

    NoShardException() {
        this(OtherFramework.calling(new Throwable().getStackTrace()));
    }

    private NoShardException(@Nullable OtherFramework framework) {
        super(
                framework == null
                        ? CurrentShardDataSource.NO_SHARD
                        : "%s uses the DataSource of the shards, and this thread is on no shard. %s"
                                .formatted(framework.title(), framework.action()),
                "08003");
        this.framework = framework;
    }

    /** The framework that used the {@code DataSource}; null if it was the application. */
    @Nullable
    OtherFramework framework() {
        return framework;
    }
}
