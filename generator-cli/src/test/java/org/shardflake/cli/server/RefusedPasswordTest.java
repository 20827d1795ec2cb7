/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.server.PasswordSource.Login;

/** A command whose password a server refuses, more than once. */
class RefusedPasswordTest {

    private static final Login LOGIN = new Login("db1", 5432, "app", "ann");

    @TempDir
    private Path directory;

    /** The server refuses logins for a while, accepts the same password again, and gets a new one hours later. */
    @Test
    void aSuccessorIsWaitedForAlsoIfItOnceWasInVain() throws Exception {
        Files.writeString(directory.resolve("secret"), "first");
        String script = "cat secret; if [ -e next ]; then mv next secret; fi";
        PasswordCommand command = new PasswordCommand(
                List.of("sh", "-c", "cd '%s'; %s".formatted(directory, script)),
                Map.of("PATH", System.getenv("PATH")),
                Duration.ofSeconds(20),
                Duration.ZERO,
                Duration.ofMillis(300));
        assertThat(command.password(LOGIN)).isEqualTo("first");
        command.refused(LOGIN, "first");
        assertThat(command.password(LOGIN)).isEqualTo("first"); // after a while
        assertThat(command.password(LOGIN)).isEqualTo("first"); // since the server takes it

        command.refused(LOGIN, "first");
        Files.writeString(directory.resolve("next"), "second"); // from the run after the next one on
        assertThat(command.password(LOGIN)).isEqualTo("second");
    }

    @Test
    void aSuccessorIsStillWaitedForWhenTheCommandHasFailedOnce() throws Exception {
        Files.writeString(directory.resolve("secret"), "first");
        // The runs after the refusal print the old password, fail, print the old one again, and then the new one.
        String script = """
                cd '%s'; echo >> runs; run=$(wc -l < runs)
                if [ $run -eq 3 ]; then echo 'sealed' >&2; exit 1; fi
                if [ $run -gt 4 ]; then echo second; else echo first; fi
                """.formatted(directory);
        PasswordCommand command = new PasswordCommand(
                List.of("sh", "-c", script),
                Map.of("PATH", System.getenv("PATH")),
                Duration.ofSeconds(20),
                Duration.ZERO,
                Duration.ofSeconds(30));
        assertThat(command.password(LOGIN)).isEqualTo("first");
        command.refused(LOGIN, "first");
        assertThatThrownBy(() -> command.password(LOGIN)).hasMessageContaining("sealed");

        assertThat(command.password(LOGIN)).isEqualTo("second");
    }
}
