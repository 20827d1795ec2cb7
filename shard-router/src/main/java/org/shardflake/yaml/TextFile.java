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

/** A text file that is read and written as a whole. */
public final class TextFile {

    /** The number of symbolic links that Linux follows. */
    private static final int MOST_LINKS = 40;

    private TextFile() {}

    /**
     * Writes a file. A plain one is replaced atomically, so that a reader never sees half of it, and keeps its permissions.
     * Symbolic links are followed. Anything else, such as a device or a pipe, gets the text as it would from a shell.
     *
     * @param what a name for the text, such as "a shard map"
     */
    public static void write(String text, String what, Path file) throws IOException {
        if (file.toAbsolutePath().getFileName() == null || Files.isDirectory(file)) {
            throw new IOException("%s is a directory, not a file to write %s to".formatted(file, what));
        }
        Path target = behindLinks(file.toAbsolutePath());
        boolean exists = Files.exists(target);
        if ((exists && !Files.isRegularFile(target)) || Files.isSymbolicLink(target)) {
            Files.writeString(target, text, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
            return;
        }
        // Not createTempFile, whose files only their owner may read.
        Path written = target.resolveSibling(".%s.%s"
                .formatted(
                        target.getFileName(),
                        Integer.toHexString(ThreadLocalRandom.current().nextInt())));
        try {
            Files.writeString(written, text, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            if (exists && Files.getFileStore(target).supportsFileAttributeView("posix")) {
                Files.setPosixFilePermissions(written, Files.getPosixFilePermissions(target));
            }
            Files.move(written, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(written);
        }
    }

    /** Follows links one by one, since the last may lead to a file that does not exist yet. */
    private static Path behindLinks(Path file) throws IOException {
        Path target = file;
        for (int links = 0; Files.isSymbolicLink(target) && !isOfTheSystem(target); links++) {
            if (links == MOST_LINKS) {
                throw new IOException("%s leads through too many symbolic links".formatted(file));
            }
            target = target.resolveSibling(Files.readSymbolicLink(target)).normalize();
        }
        return target;
    }

    /**
     * Whether only the kernel can follow a link, such as {@code /dev/stdout}, which leads to a file that a process has open. Files in shared
     * memory are like any others.
     */
    private static boolean isOfTheSystem(Path file) {
        return file.startsWith("/proc") || (file.startsWith("/dev") && !file.startsWith("/dev/shm"));
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
