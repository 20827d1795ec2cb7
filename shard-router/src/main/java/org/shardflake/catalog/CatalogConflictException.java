/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/** The catalog has changed since the map that a change was based on, so nothing was changed; read the map again before another try. */
public final class CatalogConflictException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    CatalogConflictException(String message) {
        super(Kind.PRECONDITION, message, null, null);
    }
}
