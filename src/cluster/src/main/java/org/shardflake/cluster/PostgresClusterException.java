/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import org.jspecify.annotations.Nullable;

/** Thrown when PostgreSQL servers could not be started, stopped or reached; the message says why. */
public class PostgresClusterException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    PostgresClusterException(String message) {
        super(message);
    }

    PostgresClusterException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** The reason in words, for exceptions whose message is only a file's name. */
    static String reason(IOException e) {
        if (e instanceof AccessDeniedException denied) {
            return "%s: permission denied".formatted(denied.getFile());
        }
        if (e instanceof NoSuchFileException missing) {
            return "%s: no such file or directory".formatted(missing.getFile());
        }
        return e instanceof FileAlreadyExistsException there
                ? "%s is not a directory".formatted(there.getFile())
                : String.valueOf(e.getMessage());
    }
}
