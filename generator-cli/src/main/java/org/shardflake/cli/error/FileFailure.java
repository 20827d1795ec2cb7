/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.error;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.shardflake.ShardflakeException.Kind;

/** Explains why a file could not be read or written: Java's message is often just its name. */
public final class FileFailure {

    private FileFailure() {}

    public static CliException explain(String verb, String file, IOException e) {
        return new CliException(Kind.FAILURE, "cannot %s %s: %s".formatted(verb, file, reason(e)), null, e);
    }

    /** Reads a text file that the user has named. */
    public static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw explain("read", file.toString(), e);
        }
    }

    /** The reason why a file cannot be read or written, in this command's words. */
    public static String reason(IOException e) {
        if (e instanceof NoSuchFileException) {
            return "no such file or directory";
        }
        if (e instanceof CharacterCodingException) {
            return "it is not UTF-8; convert it, for example with iconv -t UTF-8";
        }
        return e instanceof AccessDeniedException ? "permission denied" : String.valueOf(e.getMessage());
    }
}
