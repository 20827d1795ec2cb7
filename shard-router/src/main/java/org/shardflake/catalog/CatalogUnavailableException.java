/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import java.io.Serial;
import org.shardflake.ShardflakeException;
import org.shardflake.server.ServerFailure;

/** The catalog could not be reached: it is down, unreachable, or refused the login. */
public final class CatalogUnavailableException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    public CatalogUnavailableException(String message, Throwable cause) {
        super(
                ServerFailure.whileConnecting(cause).map(ServerFailure::kind).orElse(Kind.FAILURE),
                message,
                ServerFailure.whileConnecting(cause).map(ServerFailure::advice).orElse(null),
                cause);
    }
}
