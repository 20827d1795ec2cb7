/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.io.Serial;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A failure caused by the state of servers, shards or the catalog.
 *
 * <p>The root of Shardflake's own exceptions. Each subclass is named for what happened and carries its facts as
 * accessors, so nobody has to parse messages. An argument that can never be valid raises an
 * {@link IllegalArgumentException} instead, as everywhere in Java.
 */
public class ShardflakeException extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1L;

    /** The meaning of a failure to the caller. Each has an exit code of the command line. */
    public enum Kind {
        /** A failure of any other kind. */
        FAILURE,
        /** The request names something that does not exist here, or can never be done. */
        USAGE,
        /** Only a part of the work was done. */
        PARTLY_DONE,
        /** A precondition is not met, so nothing was changed. */
        PRECONDITION,
        /** Rows or schemas are not what they should be. */
        VERIFICATION
    }

    private final Kind kind;
    private final @Nullable Advice advice;

    public ShardflakeException(String message) {
        this(message, null);
    }

    public ShardflakeException(String message, @Nullable Throwable cause) {
        this(Kind.FAILURE, message, null, cause);
    }

    /** @param advice the next step: {@link Advice} if it names commands, or a sentence */
    public ShardflakeException(Kind kind, String message, @Nullable CharSequence advice, @Nullable Throwable cause) {
        super(message, cause);
        this.kind = kind;
        this.advice = advice == null ? null : Advice.of(advice);
    }

    public Kind kind() {
        return kind;
    }

    /** The next step, unless the message already gives it. */
    public Optional<Advice> advice() {
        return Optional.ofNullable(advice);
    }

    /** The {@link #advice} as text. */
    public Optional<String> hint() {
        return advice().map(Advice::toString);
    }
}
