/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.error;

import java.io.Serial;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException;

/** A failure of a command, with the message to show. */
public final class CliException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    public CliException(Kind kind, String message, @Nullable CharSequence hint) {
        this(kind, message, hint, null);
    }

    public CliException(Kind kind, String message, @Nullable CharSequence hint, @Nullable Throwable cause) {
        super(kind, message, hint, cause);
    }

    /** A command line that is wrong, whatever the state of the servers. */
    public static CliException usage(String message) {
        return new CliException(Kind.USAGE, message, null);
    }

    /** A value on the command line that can never be valid. */
    public static CliException usage(IllegalArgumentException cause) {
        return new CliException(Kind.USAGE, String.valueOf(cause.getMessage()), null, cause);
    }
}
