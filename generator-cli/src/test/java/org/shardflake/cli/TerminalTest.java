/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.NeededPrograms;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.AccountShards;

/** What a terminal of 80 columns and 24 lines shows, and which keys work there. The program {@code script} provides the terminal. */
class TerminalTest {

    private static final Path SCRIPT = Path.of("/usr/bin/script");
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(4);

    @TempDir
    static Path directory;

    private static AccountShards shards;

    @BeforeAll
    static void create() throws Exception {
        NeededPrograms.assume(Files.isExecutable(SCRIPT), "script");
        shards = AccountShards.create(postgres, 2, 8, directory);
    }

    private record Shown(int exitCode, String text) {}

    /** Runs a command, and types as soon as it shows something. */
    private static Shown run(Map<String, String> environment, String awaited, String typed, String command)
            throws IOException, InterruptedException {
        Path output = Files.createTempFile(directory, "terminal", ".txt");
        ProcessBuilder terminal = new ProcessBuilder(
                SCRIPT.toString(),
                "-qefc",
                "stty rows 24 cols 80; exec %s -XX:TieredStopAtLevel=1 %s %s"
                        .formatted(
                                Path.of(System.getProperty("java.home"), "bin", "java"),
                                Shardflake.class.getName(),
                                command),
                "/dev/null");
        terminal.environment().putAll(environment);
        terminal.environment()
                .putAll(Map.of(
                        "CLASSPATH", System.getProperty("java.class.path"), "TERM", "xterm", "SHELL", "/bin/sh"));
        Process process = terminal.redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try (OutputStream keys = process.getOutputStream()) {
            await().atMost(PATIENCE)
                    .until(() -> !process.isAlive() || Files.readString(output).contains(awaited));
            keys.write(typed.getBytes(UTF_8));
            keys.flush();
            assertThat(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .as("%s ended: %s", command, Files.readString(output))
                    .isTrue();
        } finally {
            process.descendants().forEach(ProcessHandle::destroy);
            process.destroy();
        }
        return new Shown(process.exitValue(), Files.readString(output).replace("\r\n", "\n"));
    }

    @Test
    void displaysEndWithQ() throws Exception {
        Shown top = run(shards.environment(), "rows/s written", "q", "top --every=300ms");
        assertThat(top.exitCode()).as(top.text()).isZero();

        Shown watch = run(shards.environment(), "waiting for it", "q", "move status --watch");
        assertThat(watch.exitCode()).as(watch.text()).isZero();
        assertThat(watch.text()).startsWith("no move is in progress; waiting for it\n");
    }

    @Test
    void aQuestionIsAnsweredThereAndTheAnswerNoChangesNothing() throws Exception {
        Shown refused = run(shards.environment(), "[y/N]", "\n", "move run --shards=3 --to=db2");

        assertThat(refused.exitCode()).as(refused.text()).isEqualTo(ExitCodes.USAGE);
        assertThat(refused.text())
                .startsWith("move shard 3 to db2, and remove the old copies once they are compared? [y/N] ")
                .contains("not confirmed; nothing was changed");
        assertThat(shards.catalog().load().server(3).name()).isEqualTo("db1");
    }

    @Test
    void longWorkShowsHowFarItIs() throws Exception {
        Shown write = run(
                shards.environment(),
                "wrote in",
                "",
                "sql --write --all-shards --yes 'UPDATE account SET balance = 0'");
        assertThat(write.exitCode()).as(write.text()).isZero();
        assertThat(write.text()).contains("100%", "8/8");

        Shown plan = run(shards.environment(), "nothing to do", "", "rebalance plan --by=rate --over=1s");
        assertThat(plan.text()).contains("100%");
    }

    @Test
    void theMapOfManyShardsFits() throws Exception {
        Map<String, String> environment = Map.of(
                "SHARDFLAKE_CATALOG",
                CliInstallation.withoutPassword(postgres.database(3)),
                "PGPASSWORD",
                postgres.database(3).password());
        Cli.Result init = Cli.launch(
                InputStream.nullInputStream(),
                environment,
                "init",
                "--shards=2000",
                "--server=db1=" + environment.get("SHARDFLAKE_CATALOG"));
        assertThat(init.exitCode()).as(init.toString()).isZero();

        Shown map = run(environment, "db1", "", "map show");

        assertThat(map.exitCode()).as(map.text()).isZero();
        assertThat(map.text().lines()).hasSizeLessThan(24);
    }
}
