/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Help.Ansi;

/** {@code shardflake console}, which runs in a thread of the test until it is interrupted. */
final class RunningConsole implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();
    private final Thread thread;

    private RunningConsole(String address, Map<String, String> environment, String... options) {
        List<String> words = new ArrayList<>(List.of("console", "--listen", address));
        words.addAll(List.of(options));
        String[] command = words.toArray(String[]::new);
        this.thread = new Thread(
                () -> Shardflake.run(command, InputStream.nullInputStream(), out, err, environment, Ansi.OFF),
                "console");
    }

    /** Begins at any port that is free, and waits for the address. */
    static RunningConsole start(Map<String, String> environment) {
        return start(environment, 0);
    }

    /** The same, where the page may change something. */
    static RunningConsole startWithChanges(Map<String, String> environment) {
        return start(environment, 0, "--allow-changes");
    }

    static RunningConsole start(Map<String, String> environment, int port, String... options) {
        RunningConsole console = new RunningConsole("localhost:" + port, environment, options);
        console.thread.start();
        await().atMost(PATIENCE)
                .failFast("it ended", () -> !console.thread.isAlive())
                .untilAsserted(() -> assertThat(console.out.toString(UTF_8))
                        .as(console.told())
                        .contains("\n"));
        return console;
    }

    /** The address that it printed, with the token. */
    String url() {
        return out.toString(UTF_8).strip().replaceFirst(".* ", "");
    }

    int port() {
        return URI.create(url()).getPort();
    }

    /** What it said on standard error. */
    String told() {
        return err.toString(UTF_8);
    }

    @Override
    public void close() throws InterruptedException {
        thread.interrupt();
        thread.join(PATIENCE.toMillis());
    }
}
