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
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.config.Setting;
import org.shardflake.cli.config.Settings;
import org.shardflake.cli.server.PasswordCommands;
import org.shardflake.cli.server.ServerAccess;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/**
 * The context of a command apart from its arguments.
 *
 * @param in its standard input
 * @param environment its environment variables
 * @param settings option values from the environment and the file
 * @param passwords its password commands
 * @param agreement asks a question of someone who is at no terminal, if there is someone
 */
public record Invocation(
        InputStream in,
        Map<String, String> environment,
        Settings settings,
        PasswordCommands passwords,
        Optional<Predicate<String>> agreement) {

    /** The name of the option and setting with the password command, without dashes. */
    public static final String PASSWORD_COMMAND = "password-command";

    /** The root command, which holds the invocation. */
    public interface Root {
        Invocation invocation();

        /** All commands, for describing rather than running them. */
        CommandLine commands();

        /**
         * Runs another command of the tree as if it had been called separately; returns its exit code.
         *
         * @param output takes what it prints and says
         * @param agreement takes the question before a change, and answers it
         */
        int run(List<String> args, OutputStream output, Map<String, String> environment, Predicate<String> agreement);
    }

    /** A URL, with missing parts from the environment, and a password from the password command if one is set. */
    public ServerUrl url(String text) {
        return url(text, settings.find(PASSWORD_COMMAND).map(Setting::value).orElse(null));
    }

    /** A URL, with missing parts from the environment, and a password from the given password command. */
    public ServerUrl url(String text, @Nullable String passwordCommand) {
        ServerUrl url = ServerAccess.parse(text, environment);
        return passwordCommand == null || passwordCommand.isBlank() ? url : url.asking(passwords.of(passwordCommand));
    }

    public static Invocation of(CommandSpec command) {
        return ((Root) command.root().userObject()).invocation();
    }
}
