/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine;
import picocli.codegen.docgen.manpage.ManPageGenerator;

/** Writes what the archive has of the commands besides their code: sources of man pages, and the completion script. */
final class DistFiles {

    private DistFiles() {}

    public static void main(String[] args) throws IOException {
        Path directory = Path.of(args[0]);
        Path man = Files.createDirectories(directory.resolve("adoc"));
        Path completion = Files.createDirectories(directory.resolve("completion"));
        CommandLine commands = Shardflake.allCommands();
        int exitCode =
                ManPageGenerator.generateManPage(man.toFile(), null, new boolean[0], true, commands.getCommandSpec());
        if (exitCode != 0) {
            throw new IllegalStateException("the man pages were not made: exit code " + exitCode);
        }
        Files.writeString(
                completion.resolve("shardflake"), Cli.launch("completion").out(), UTF_8);
    }
}
