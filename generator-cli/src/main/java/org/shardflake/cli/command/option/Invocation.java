/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import org.shardflake.cli.config.Settings;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/**
 * The context of a command apart from its arguments.
 *
 * @param in its standard input
 * @param environment its environment variables
 * @param settings option values from the environment and the file
 * @param agreement asks a question of someone who is at no terminal, if there is someone
 */
public record Invocation(
        InputStream in, Map<String, String> environment, Settings settings, Optional<Predicate<String>> agreement) {

    /** The root command, which holds the invocation. */
    public interface Root {
        Invocation invocation();

        /** Every command, to be described rather than run. */
        CommandLine commands();

        /**
         * Runs another command of the tree, as if it had been called on its own, and returns its exit code.
         *
         * @param output takes what it prints and says
         * @param agreement takes the question before a change, and answers it
         */
        int run(List<String> args, OutputStream output, Map<String, String> environment, Predicate<String> agreement);
    }

    public static Invocation of(CommandSpec command) {
        return ((Root) command.root().userObject()).invocation();
    }
}
