/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import org.shardflake.cli.command.option.EnumNames;
import org.shardflake.cli.command.option.ServerNames;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code shardflake completion}: prints a completion script. */
@Command(
        name = "completion",
        description = {
            "Prints a script that completes commands, options and the names of servers in bash, zsh and fish.",
            "In zsh it needs: autoload -U +X bashcompinit && bashcompinit"
        },
        footer = {"", "Example: source <(shardflake completion)", "         shardflake completion fish | source"})
final class CompletionCommand implements Runnable {

    enum Shell {
        BASH,
        ZSH,
        FISH
    }

    static final class Shells extends EnumNames<Shell> {
        Shells() {
            super(Shell.class);
        }
    }

    @Spec
    private CommandSpec spec;

    @Parameters(
            index = "0",
            arity = "0..1",
            paramLabel = "SHELL",
            defaultValue = "bash",
            converter = Shells.class,
            completionCandidates = Shells.class,
            description = "bash, zsh or fish (default: ${DEFAULT-VALUE}).")
    private Shell shell;

    @Override
    public void run() {
        CommandLine all = new CommandLine(spec.root().userObject());
        Commands.addAll(all);
        String script = switch (shell) {
            case BASH, ZSH ->
                AutoComplete.bash("shardflake", all)
                        .replace('"' + ServerNames.PLACEHOLDER + '"', "$(shardflake server names 2>/dev/null)");
            case FISH -> FishCompletion.of(all);
        };
        spec.commandLine().getOut().print(script);
    }
}
