/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.error;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** A failure to show as {@code error:}, with what to do next as {@code hint:}, and its exit code. */
public final class CliException extends RuntimeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final int exitCode;
    private final @Nullable String hint;

    public CliException(int exitCode, String message, @Nullable String hint) {
        super(message);
        this.exitCode = exitCode;
        this.hint = hint;
    }

    /** A command line that cannot be right, whatever the state of the servers. */
    public static CliException usage(String message) {
        return new CliException(ExitCodes.USAGE, message, null);
    }

    /** A value given on the command line that can never be right. */
    public static CliException usage(IllegalArgumentException cause) {
        return usage(String.valueOf(cause.getMessage())).causedBy(cause);
    }

    public CliException causedBy(Throwable cause) {
        initCause(cause);
        return this;
    }

    public int exitCode() {
        return exitCode;
    }

    public @Nullable String hint() {
        return hint;
    }
}
