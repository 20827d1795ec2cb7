/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;

/** Explains why a file could not be read or written: Java's message is often just its name. */
final class FileFailure {

    private FileFailure() {}

    static CliException explain(String verb, String file, IOException e) {
        return new CliException(Kind.FAILURE, "cannot %s %s: %s".formatted(verb, file, reason(e)), null, e);
    }

    private static String reason(IOException e) {
        if (e instanceof NoSuchFileException) {
            return "no such file or directory";
        }
        return e instanceof AccessDeniedException ? "permission denied" : String.valueOf(e.getMessage());
    }
}
