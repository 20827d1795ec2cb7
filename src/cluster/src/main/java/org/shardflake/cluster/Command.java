/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Runs a program until it ends, with its output in a file: a server started by it would inherit a pipe. */
final class Command {
    private Command() {}

    /**
     * @param environment variables to add to this process's environment
     * @throws PostgresClusterException with the program's output if it fails or takes longer than the timeout
     */
    static void run(List<String> command, Map<String, String> environment, Path output, Duration timeout) {
        try {
            ProcessBuilder builder =
                    new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
            builder.environment().putAll(environment);
            Process process = builder.start();
            process.getOutputStream().close();
            try {
                if (!process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
                    throw failure(command, "took longer than " + timeout.toSeconds() + " s", output);
                }
            } finally {
                process.destroy();
            }
            if (process.exitValue() != 0) {
                throw failure(command, "failed with exit code " + process.exitValue(), output);
            }
        } catch (IOException e) {
            throw new PostgresClusterException("cannot run " + String.join(" ", command) + ": " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new PostgresClusterException("interrupted while running " + String.join(" ", command), e);
        }
    }

    /** The last lines of a file, each on its own line; empty when there is no file. */
    static String tail(Path file) {
        try {
            // Not readAllLines: a server writes its log in the encoding of its messages.
            return lastLines(Files.readString(file, StandardCharsets.ISO_8859_1));
        } catch (IOException e) {
            return "";
        }
    }

    /** The last lines of a text, each on its own line. */
    static String lastLines(String text) {
        List<String> lines = text.lines().toList();
        return "\n" + String.join("\n", lines.subList(Math.max(0, lines.size() - 15), lines.size()));
    }

    private static PostgresClusterException failure(List<String> command, String what, Path output) {
        return new PostgresClusterException(String.join(" ", command) + " " + what + tail(output));
    }
}
