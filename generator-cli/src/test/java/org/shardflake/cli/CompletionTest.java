/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What bash offers with the script, with a shardflake on the path that knows two servers. */
class CompletionTest {

    private static final Path BASH = Path.of("/bin/bash");

    @TempDir
    Path directory;

    @BeforeEach
    void writeScript() throws Exception {
        assumeTrue(Files.isExecutable(BASH), "needs bash");
        Files.writeString(
                directory.resolve("completion"), Cli.launch("completion").out());
        Path command = Files.writeString(directory.resolve("shardflake"), """
                #!/bin/sh
                [ "$*" = "server names" ] && echo db1 db2
                """);
        Files.setPosixFilePermissions(command, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private String complete(String... words) throws Exception {
        String script =
                """
                export PATH=%s:$PATH
                source %s
                COMP_WORDS=(%s)
                COMP_CWORD=%s
                compopt() { :; }
                _complete_shardflake
                echo "${COMPREPLY[*]}"
                """.formatted(directory, directory.resolve("completion"), String.join(" ", words), words.length - 1);
        Process bash = new ProcessBuilder(BASH.toString(), "-c", script)
                .redirectErrorStream(true)
                .start();
        String output = new String(bash.getInputStream().readAllBytes(), UTF_8);
        assertThat(bash.waitFor()).as(output).isZero();
        return output.strip();
    }

    @Test
    void commandsOptionsAndValues() throws Exception {
        assertThat(complete("shardflake", "re")).isEqualTo("reference rebalance reconcile restore-point");
        assertThat(complete("shardflake", "move", "c")).isEqualTo("cutover complete cancel");
        assertThat(complete("shardflake", "move", "run", "--sh")).isEqualTo("--shards");
        assertThat(complete("shardflake", "server", "list", "-o", "j")).isEqualTo("json");
        assertThat(complete("shardflake", "id", "generate", "--scheme", "uu")).isEqualTo("uuidv4 uuidv7");
        assertThat(complete("shardflake", "id", "decode", "--scheme", "a")).isEqualTo("auto");
        assertThat(complete("shardflake", "init", "--layout", "''")).isEqualTo("contiguous round-robin");
        assertThat(complete("shardflake", "grants", "--for", "a")).isEqualTo("application adopt");
    }

    @Test
    void namesOfServers() throws Exception {
        assertThat(complete("shardflake", "move", "run", "--to", "db")).isEqualTo("db1 db2");
        assertThat(complete("shardflake", "server", "drain", "''")).isEqualTo("db1 db2");
    }

    @Test
    void theScriptOfFishNamesWhatFollowsEachCommand() throws Exception {
        String script = Cli.launch("completion", "fish").out();

        assertThat(script)
                .contains("complete -c shardflake -n '__shardflake_at move' -a cutover -d 'Makes the target take")
                .contains(
                        "-n '__shardflake_at move run' -l to -x -a '(shardflake server names 2>/dev/null | string split \\' \\')'")
                .contains("-n '__shardflake_at schema deploy' -l changelog -r")
                .contains("-n '__shardflake_at server list' -s o -l output -x -a 'table json yaml'")
                .doesNotContain("${", "-a names");
        Path fish = Path.of("/usr/bin/fish");
        if (Files.isExecutable(fish)) {
            Path file = Files.writeString(directory.resolve("completion.fish"), script);
            assertThat(offered(fish, file, "shardflake move --stacktrace c")).isEqualTo("cancel complete cutover");
            assertThat(offered(fish, file, "shardflake move run --to d")).isEqualTo("db1 db2");
            assertThat(offered(fish, file, "shardflake server list -o j")).isEqualTo("json");
        }
    }

    private String offered(Path fish, Path file, String typed) throws Exception {
        Process shell = new ProcessBuilder(
                        fish.toString(),
                        "--no-config",
                        "-c",
                        "set -x PATH %s $PATH; source %s; complete -C '%s' | string replace -r '\\t.*' ''"
                                .formatted(directory, file, typed))
                .redirectErrorStream(true)
                .start();
        String output = new String(shell.getInputStream().readAllBytes(), UTF_8);
        assertThat(shell.waitFor()).as(output).isZero();
        return output.strip().replace('\n', ' ');
    }
}
