/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.exception;

import java.io.Serial;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;

/** A move that cannot continue now. The catalog records where it stands, and the same command continues from there. */
public class MoveException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    /** A failure's message together with its advice, for when both have to be one text. */
    public static String text(Throwable failure) {
        String message = String.valueOf(failure.getMessage());
        Optional<String> hint = failure instanceof ShardflakeException ours ? ours.hint() : Optional.empty();
        return hint.filter(step -> !message.contains(step)) // A server's own is in its message.
                .map(step -> "%s (%s)".formatted(message, step))
                .orElse(message);
    }

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
