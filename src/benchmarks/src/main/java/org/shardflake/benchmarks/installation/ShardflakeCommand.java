/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.installation;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Report;

/** The command line of this checkout, run as a process by its launcher. */
public final class ShardflakeCommand {

    private static final Path LAUNCHER = Path.of("generator-cli", "shardflake");

    private final Path launcher;
    private final Path workingDirectory;
    private final Map<String, String> environment;

    /**
     * The result of a command.
     *
     * @param seconds from starting the process to its end, Java's start included
     * @param messages the lines of its standard error
     */
    public record Result(double seconds, List<String> messages) {}

    /** A command with this environment beside the process' own. */
    ShardflakeCommand(Path workingDirectory, Map<String, String> environment) {
        this.launcher = Report.inCheckout(LAUNCHER);
        this.workingDirectory = workingDirectory;
        this.environment = Map.copyOf(environment);
    }

    /** The time to start the command, which is part of every command's time: {@code shardflake --version}, in seconds. */
    public static Interval startSeconds(int times) throws IOException, InterruptedException {
        ShardflakeCommand command = new ShardflakeCommand(Path.of("").toAbsolutePath(), Map.of());
        command.run("--version"); // the first one reads the files into memory
        List<Double> seconds = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            seconds.add(command.run("--version").seconds());
        }
        return Interval.of(seconds);
    }

    /** Runs a command, which has to succeed. */
    public Result run(String... arguments) throws IOException, InterruptedException {
        return run(line -> {}, arguments);
    }

    /**
     * Runs a command, which has to succeed.
     *
     * @param heard gets each line of its standard error as it comes
     * @throws IllegalStateException if its exit code is not 0
     */
    public Result run(Consumer<String> heard, String... arguments) throws IOException, InterruptedException {
        long start = System.nanoTime();
        Process process = builder(arguments)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            List<String> messages = read(process, heard);
            int exitCode = process.waitFor();
            double seconds = (System.nanoTime() - start) / 1e9;
            if (exitCode != 0) {
                throw new IllegalStateException("shardflake %s ended with %d:%n%s"
                        .formatted(String.join(" ", arguments), exitCode, String.join("\n", messages)));
            }
            return new Result(seconds, messages);
        } finally {
            process.destroy(); // does nothing once it has ended
        }
    }

    /** Starts a command that runs until the caller stops it. The caller reads its output. */
    public Process start(String... arguments) throws IOException {
        return builder(arguments).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    private ProcessBuilder builder(String... arguments) {
        List<String> command = new ArrayList<>(List.of(launcher.toString()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).directory(workingDirectory.toFile());
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        builder.environment().putAll(environment);
        return builder;
    }

    private static List<String> read(Process process, Consumer<String> heard) throws IOException {
        List<String> messages = new ArrayList<>();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(process.getErrorStream(), UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                messages.add(line);
                heard.accept(line);
            }
        }
        return messages;
    }
}
