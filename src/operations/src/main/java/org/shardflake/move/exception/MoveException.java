/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.exception;

import java.io.Serial;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;

/** A move that cannot go on now. The catalog records where it stands, and the same command continues from there. */
public class MoveException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    public MoveException(String message) {
        this(message, null);
    }

    public MoveException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    public MoveException(Kind kind, String message, @Nullable CharSequence hint) {
        this(kind, message, hint, null);
    }

    public MoveException(Kind kind, String message, @Nullable CharSequence hint, @Nullable Throwable cause) {
        super(kind, message, hint, cause);
    }
}
