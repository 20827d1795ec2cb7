/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Predicate;
import org.shardflake.Advice;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.cli.output.Progress;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The option {@code --yes}; without it, a person at a terminal is asked, and a command without a terminal is refused. */
public final class ConfirmMixin {

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    @Option(names = "--yes", description = "Go ahead without asking.")
    private boolean yes;

    /** Whether {@code --yes} was given. */
    public boolean isGiven() {
        return yes;
    }

    /**
     * Returns if the user confirms, and fails otherwise.
     *
     * @param what the pending action: "move 7 shards off db1"
     * @param hint how to see more of it first
     */
    public void require(String what, CharSequence hint) {
        if (yes) {
            return;
        }
        Optional<Predicate<String>> agreement = Invocation.of(command).agreement();
        if (agreement.isEmpty() && !Progress.isTerminal()) {
            throw new CliException(
                    Kind.USAGE,
                    "cannot ask whether to %s: there is no terminal".formatted(what),
                    Advice.of("add --yes; %s", hint));
        }
        String question = "%s? [y/N]".formatted(what);
        if (!agreement.orElse(this::ask).test(question)) {
            throw new CliException(Kind.USAGE, "not confirmed; nothing was changed", hint);
        }
    }

    /**
     * Asks a person at a terminal, but continues without one: for commands in scripts that lose nothing, since they compare copies
     * before they remove them.
     */
    public void requireOfPerson(String what, CharSequence hint) {
        if (Progress.isTerminal() || Invocation.of(command).agreement().isPresent()) {
            require(what, hint);
        }
    }

    private boolean ask(String question) {
        PrintWriter err = command.commandLine().getErr();
        err.print(question + " ");
        err.flush();
        Invocation invocation = Invocation.of(command);
        try {
            String answer = new BufferedReader(new InputStreamReader(invocation.in(), UTF_8)).readLine();
            return answer != null && isYes(answer);
        } catch (IOException e) {
            throw FileFailure.explain("read", "the answer", e);
        }
    }

    /** Whether an answer means yes. */
    public static boolean isYes(String answer) {
        return List.of("y", "yes").contains(answer.strip().toLowerCase(Locale.ROOT));
    }
}
