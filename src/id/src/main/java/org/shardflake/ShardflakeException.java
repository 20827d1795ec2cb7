/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/**
 * Something about the state of servers, shards or the catalog kept Shardflake from doing what was asked.
 *
 * <p>The root of Shardflake's own exceptions. Each subclass is named for what happened and carries its facts as
 * accessors, so nobody has to parse messages. An argument that can never be right is an {@link
 * IllegalArgumentException} instead, as everywhere in Java.
 */
public class ShardflakeException extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1L;

    public ShardflakeException(String message) {
        super(message);
    }

    public ShardflakeException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
