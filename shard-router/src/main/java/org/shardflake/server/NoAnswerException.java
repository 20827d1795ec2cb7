/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;

/** A server kept its connection open but stopped answering, even on a new connection. */
public final class NoAnswerException extends IOException {

    private static final long serialVersionUID = 1;

    NoAnswerException(String server, Duration limit) {
        super("server %s has not answered for %s s".formatted(server, limit.toSeconds()));
    }

    /** Replaces the driver's messages by this exception's in the text of a failure that it caused. */
    public String explain(String text, Throwable failure) {
        String explained = text;
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException && cause.getMessage() != null) {
                explained = explained.replace(cause.getMessage(), String.valueOf(getMessage()));
            }
        }
        return explained;
    }

    /** The exception of this type that caused a failure, if any. */
    public static Optional<NoAnswerException> in(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof NoAnswerException found) {
                return Optional.of(found);
            }
        }
        return Optional.empty();
    }
}
