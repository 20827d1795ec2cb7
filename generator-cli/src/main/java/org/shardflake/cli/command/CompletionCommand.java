/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import org.shardflake.cli.command.option.ServerNames;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code shardflake completion}: prints a script for shells. */
@Command(
        name = "completion",
        description = {
            "Prints a script that completes commands, options and the names of servers in bash and zsh.",
            "In zsh it needs: autoload -U +X bashcompinit && bashcompinit"
        },
        footer = {"", "Example: source <(shardflake completion)"})
final class CompletionCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        CommandLine all = new CommandLine(spec.root().userObject());
        Commands.addAll(all);
        spec.commandLine()
                .getOut()
                .print(AutoComplete.bash("shardflake", all)
                        .replace('"' + ServerNames.PLACEHOLDER + '"', "$(shardflake server names 2>/dev/null)"));
    }
}
