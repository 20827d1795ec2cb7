/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.server;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.server.PasswordSource;

/** The password commands of a run of the command line, with their output of the last seconds. Thread-safe. */
public final class PasswordCommands {

    private static final Pattern SHELL = Pattern.compile("(ba|da|k|z|fi)?sh");
    private static final Pattern EXPANDED = Pattern.compile(".*(\\$[A-Za-z_{(]|`).*");
    private static final Set<String> OPERATORS = Set.of("|", "||", "&&", ";", "<", ">", "2>");
    private static final String HINT =
            "no shell runs it; for variables and pipes write sh -c '...', or name a script of your own";

    private final Map<String, String> environment;
    private final Map<String, PasswordSource> commands = new ConcurrentHashMap<>();

    /** @param environment of the programs */
    public PasswordCommands(Map<String, String> environment) {
        this.environment = environment;
    }

    /**
     * The passwords that a command prints.
     *
     * @throws CliException if its text cannot be split into words, or needs a shell
     */
    public PasswordSource of(String command) {
        return commands.computeIfAbsent(command, text -> new PasswordCommand(checked(text), environment));
    }

    private static List<String> checked(String command) {
        List<String> words = words(command);
        boolean isShell = SHELL.matcher(String.valueOf(Path.of(words.get(0)).getFileName()))
                .matches();
        for (String word : words) {
            if (!isShell && (OPERATORS.contains(word) || EXPANDED.matcher(word).matches())) {
                throw new CliException(
                        Kind.USAGE, "the password command has %s, which stays as it is".formatted(word), HINT);
            }
        }
        return words;
    }

    /** Splits at spaces, except inside quotes; a backslash escapes the next character, except between single quotes. */
    static List<String> words(String command) {
        List<String> words = new ArrayList<>();
        StringBuilder word = new StringBuilder();
        boolean isInWord = false;
        char quote = 0;
        for (int i = 0; i < command.length(); i++) {
            char c = command.charAt(i);
            if (c == '\\' && quote != '\'' && i + 1 < command.length()) {
                i++;
                word.append(command.charAt(i));
                isInWord = true;
            } else if (quote != 0 ? c == quote : c == '\'' || c == '"') {
                quote = quote == 0 ? c : 0;
                isInWord = true;
            } else if (quote == 0 && Character.isWhitespace(c)) {
                if (isInWord) {
                    words.add(word.toString());
                    word.setLength(0);
                    isInWord = false;
                }
            } else {
                word.append(c);
                isInWord = true;
            }
        }
        if (quote != 0) {
            throw new CliException(Kind.USAGE, "the password command has a %s without its end".formatted(quote), HINT);
        }
        if (isInWord) {
            words.add(word.toString());
        }
        return words;
    }
}
