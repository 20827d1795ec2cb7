/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.error;

import org.shardflake.ShardflakeException.Kind;

/** The exit codes of commands. Scripts rely on them, so a number never changes its meaning. */
public final class ExitCodes {

    public static final int OK = 0;
    public static final int FAILURE = 1;
    public static final int USAGE = 2;
    public static final int PARTLY_DONE = 3;
    public static final int PRECONDITION = 4;
    public static final int VERIFICATION = 5;

    /** The exit code, as in shells, of a program ended by Ctrl-C. */
    public static final int INTERRUPTED = 128 + 2;

    /** The exit code, as in shells, of a program ended by SIGPIPE, as when {@code head} has read enough. */
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
