/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.yaml;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;

/** A file that is read and written as a whole. */
public final class YamlFile {

    private YamlFile() {}

    /**
     * Writes the file atomically: a reader never sees half of it.
     *
     * @param what a name for the text, such as "a shard map"
     */
    public static void write(String text, String what, Path file) throws IOException {
        Path name = file.toAbsolutePath().getFileName();
        if (name == null || Files.isDirectory(file)) {
            throw new IOException("%s is a directory, not a file to write %s to".formatted(file, what));
        }
        // Not createTempFile, whose files only their owner may read.
        Path written = file.resolveSibling(
                ".%s.%08x".formatted(name, ThreadLocalRandom.current().nextInt()));
        try {
            Files.writeString(written, text, StandardOpenOption.CREATE_NEW);
            Files.move(written, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(written);
        }
    }

    /**
     * Reads a file.
     *
     * @throws IllegalArgumentException if the parser throws one; the file's name precedes its message
     */
    public static <T> T read(Path file, Function<String, T> parser) throws IOException {
        try {
            return parser.apply(Files.readString(file, UTF_8));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("%s: %s".formatted(file, e.getMessage()), e);
        }
    }
}
