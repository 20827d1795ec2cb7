/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import org.jspecify.annotations.Nullable;

/** Thrown when PostgreSQL servers could not be started, stopped or reached; the message says why. */
public class PostgresClusterException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    PostgresClusterException(String message) {
        super(message);
    }

    PostgresClusterException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
