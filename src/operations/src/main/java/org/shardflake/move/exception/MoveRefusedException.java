/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.exception;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** Thrown when a request is impossible in a move's state; nothing was changed. */
public final class MoveRefusedException extends MoveException {

    @Serial
    private static final long serialVersionUID = 1L;

    public MoveRefusedException(String message) {
        this(message, null);
    }

    public MoveRefusedException(String message, @Nullable CharSequence hint) {
        super(Kind.PRECONDITION, message, hint);
    }
}
