/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Finds programs that a Linux distribution has installed. */
final class Programs {
    private static final Pattern VERSION = Pattern.compile("\\d+(\\.\\d+)+");

    private Programs() {}

    /** A program in one of the directories, or on the path. */
    static Optional<Path> find(String name, Path... directories) {
        String path = System.getenv().getOrDefault("PATH", "");
        return Stream.concat(
                        Stream.of(directories),
                        Pattern.compile(File.pathSeparator, Pattern.LITERAL)
                                .splitAsStream(path)
                                .map(Path::of))
                .map(directory -> directory.resolve(name))
                .filter(Files::isExecutable)
                .findFirst();
    }

    /** The version that a program reports: the first number with dots in its output. */
    static String version(Path program) {
        try {
            Path output = Files.createTempFile("version-", ".log");
            try {
                Command.run(List.of(program.toString(), "--version"), Map.of(), output, Duration.ofSeconds(30));
                Matcher version = VERSION.matcher(Files.readString(output));
                if (!version.find()) {
                    throw new PostgresClusterException(program + " does not say which version it is");
                }
                return version.group();
            } finally {
                Files.delete(output);
            }
        } catch (IOException e) {
            throw new PostgresClusterException("cannot ask " + program + " for its version: " + e, e);
        }
    }
}
