/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.testcontainers.DockerClientFactory;

/** A JVM of its own that starts two servers and sleeps, to be ended by a signal. */
final class ChildCluster implements AutoCloseable {
    private static final String TRACE = "trace: ";

    private final Process process;
    private final BufferedReader output;
    private final List<String> lines = new ArrayList<>();

    private ChildCluster(Process process) {
        this.process = process;
        this.output = process.inputReader(StandardCharsets.UTF_8);
    }

    public static void main(String[] args) throws InterruptedException {
        PostgresCluster cluster = PostgresCluster.start(2);
        System.out.println(TRACE + trace(cluster));
        Thread.sleep(TimeUnit.MINUTES.toMillis(5));
    }

    /** What its processes, containers and files can be found by. */
    static String trace(PostgresCluster cluster) {
        return cluster.server(0) instanceof EmbeddedServer server
                ? Objects.requireNonNull(server.directory().getParent()).toString()
                : DockerClientFactory.SESSION_ID;
    }

    /** Launches the JVM with a temporary directory and system properties of its own. */
    static ChildCluster launch(Path temporaryDirectory, String... systemProperties) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-Djava.io.tmpdir=" + temporaryDirectory);
        SystemProperties.version().ifPresent(version -> command.add("-Dpostgres.version=" + version));
        for (String property : systemProperties) {
            command.add("-D" + property);
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), ChildCluster.class.getName()));
        return new ChildCluster(
                new ProcessBuilder(command).redirectErrorStream(true).start());
    }

    /** Waits until its servers run. */
    String awaitTrace() throws IOException {
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            lines.add(line);
            if (line.startsWith(TRACE)) {
                return line.substring(TRACE.length());
            }
        }
        throw new AssertionError("the cluster did not start:\n" + String.join("\n", lines));
    }

    /** What it printed before the trace. */
    List<String> lines() {
        return lines;
    }

    /** Sends the signal and waits for the end. */
    void signal(String signal) throws IOException, InterruptedException {
        assumeFalse(
                signal.equals("INT") && ignoresInterrupts(), "SIGINT is ignored, as for a background job of a shell");
        new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid()))
                .start()
                .waitFor();
        assertThat(process.waitFor(30, TimeUnit.SECONDS))
                .as("ends after SIG" + signal)
                .isTrue();
    }

    @Override
    public void close() throws IOException {
        process.destroy();
        output.close();
    }

    private boolean ignoresInterrupts() throws IOException {
        Path status = Path.of("/proc", Long.toString(process.pid()), "status");
        if (!Files.exists(status)) {
            return false;
        }
        return Files.readAllLines(status).stream()
                .filter(line -> line.startsWith("SigIgn:"))
                .map(line -> Long.parseUnsignedLong(
                        line.substring("SigIgn:".length()).strip(), 16))
                .anyMatch(mask -> (mask & 1L << 1) != 0);
    }
}
