/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.io.Serial;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;

/** A move that cannot go on now. Where it stands is in the catalog, and the same command goes on from there. */
public class MoveException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    MoveException(String message) {
        this(message, null);
    }

    MoveException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    MoveException(Kind kind, String message, @Nullable String hint) {
        super(kind, message, hint, null);
    }
}
