/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.shardflake.cli.Shardflake;
import picocli.CommandLine;
import picocli.codegen.docgen.manpage.ManPageGenerator;

/** Run by the build: writes what the archive has of the commands besides their code, sources of man pages and the completion script. */
public final class DistFiles {

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
        try (PrintWriter out = new PrintWriter(completion.resolve("shardflake").toFile(), "UTF-8")) {
            exitCode = commands.setOut(out).execute("completion");
        }
        if (exitCode != 0) {
            throw new IllegalStateException("the completion script was not made: exit code " + exitCode);
        }
    }
}
