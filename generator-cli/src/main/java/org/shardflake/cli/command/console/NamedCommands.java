/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.console;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/**
 * The commands that a sentence names, to be copied: "look at it, then shardflake map import map.yaml --yes" names {@code map import
 * map.yaml --yes}. What is an argument is known from the command.
 */
final class NamedCommands {

    private static final String NAME = "shardflake ";

    /** One that is quoted for a shell, or plain. */
    private static final Pattern WORD =
            Pattern.compile("\\s*('[^']*'(?:\\\\''[^']*')*|[^\\s;,:()]+(?:[,:][^\\s;,:()]+)*)([;,:()]?)");

    private static final Pattern SHELL_WORD = Pattern.compile("'[^']*'(?:\\\\''[^']*')*|\\S+");

    /** An argument that need not be given looks like one: a number, some numbers, a name with a digit, a placeholder. */
    private static final Pattern ARGUMENT = Pattern.compile(".*[0-9].*|[A-Z_]+|'.*'");

    private final CommandLine all;

    NamedCommands(CommandLine all) {
        this.all = all;
    }

    /** Without "shardflake", in their order. */
    List<String> in(String sentence) {
        Set<String> found = new LinkedHashSet<>();
        int at = sentence.indexOf(NAME);
        while (at >= 0) {
            int begin = at + NAME.length();
            String command = command(sentence, begin);
            if (!command.isEmpty()) {
                found.add(command);
            }
            at = sentence.indexOf(NAME, begin);
        }
        return List.copyOf(found);
    }

    private String command(String sentence, int begin) {
        List<String> words = words(sentence, begin);
        Found found = find(words);
        return found.names() == 0 ? "" : String.join(" ", words.subList(0, end(found.command(), words, found.names())));
    }

    /**
     * The command that words begin with.
     *
     * @param names how many of the words are its name; 0 if there is no such command
     */
    record Found(CommandSpec command, int names) {}

    /** Finds the command that words, without "shardflake", begin with. */
    Found find(List<String> words) {
        CommandLine command = all;
        int names = 0;
        for (String word : words) {
            CommandLine below = command.getSubcommands().get(word);
            if (below == null) {
                break;
            }
            command = below;
            names++;
        }
        return new Found(command.getCommandSpec(), names);
    }

    /** The words up to the first that a sign follows which ends a part of a sentence. */
    private static List<String> words(String sentence, int begin) {
        List<String> words = new ArrayList<>();
        Matcher word = WORD.matcher(sentence).region(begin, sentence.length());
        while (word.lookingAt()) {
            String text = word.group(1).replaceFirst("\\.$", "");
            words.add(text);
            if (!word.group(2).isEmpty() || !text.equals(word.group(1))) {
                break;
            }
            word.region(word.end(), sentence.length());
        }
        return words;
    }

    private static int end(CommandSpec command, List<String> words, int begin) {
        int required = command.positionalParameters().stream()
                .mapToInt(parameter -> parameter.arity().min())
                .sum();
        boolean mayHave = command.positionalParameters().stream()
                .map(PositionalParamSpec::arity)
                .anyMatch(arity -> arity.max() > 0);
        // Any word may be one more value; who names such a command says nothing after it.
        boolean takesAll = command.positionalParameters().stream()
                .anyMatch(parameter -> parameter.arity().isVariable());
        int at = begin;
        while (at < words.size()) {
            String word = words.get(at);
            if (word.startsWith("--")) {
                @Nullable OptionSpec option = command.findOption(word.replaceFirst("=.*", ""));
                if (option == null) {
                    return at;
                }
                at += word.contains("=") ? 1 : 1 + Math.min(1, option.arity().max());
            } else if (takesAll
                    || required > 0
                    || (mayHave && ARGUMENT.matcher(word).matches())) {
                required--;
                mayHave = mayHave && required > 0;
                at++;
            } else {
                return at;
            }
        }
        return Math.min(at, words.size());
    }

    /** The words of a command whose arguments are {@link #quoted}. */
    static List<String> unquoted(String command) {
        return SHELL_WORD
                .matcher(command)
                .results()
                .map(word -> word.group().startsWith("'")
                        ? word.group().substring(1, word.group().length() - 1).replace("'\\''", "'")
                        : word.group())
                .toList();
    }

    /** As one word of a shell. */
    static String quoted(String word) {
        return word.chars().allMatch(each -> Character.isLetterOrDigit(each) || "-_./:@=,".indexOf(each) >= 0)
                ? word
                : "'" + word.replace("'", "'\\''") + "'";
    }
}
