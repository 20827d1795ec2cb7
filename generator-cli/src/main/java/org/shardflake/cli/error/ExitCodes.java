/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.error;

import org.shardflake.ShardflakeException.Kind;

/** What the command's exit code says. Scripts rely on it, so a number never changes its meaning. */
public final class ExitCodes {

    public static final int OK = 0;
    public static final int FAILURE = 1;
    public static final int USAGE = 2;
    public static final int PARTLY_DONE = 3;
    public static final int PRECONDITION = 4;
    public static final int VERIFICATION = 5;

    /** What a shell reports for a program that Ctrl-C ended. */
    public static final int INTERRUPTED = 128 + 2;

    /** What a shell reports for a program that SIGPIPE ended, as when {@code head} has read enough. */
    public static final int BROKEN_PIPE = 128 + 13;

    private ExitCodes() {}

    public static int of(Kind kind) {
        return switch (kind) {
            case FAILURE -> FAILURE;
            case USAGE -> USAGE;
            case PARTLY_DONE -> PARTLY_DONE;
            case PRECONDITION -> PRECONDITION;
            case VERIFICATION -> VERIFICATION;
        };
    }
}
