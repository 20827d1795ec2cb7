/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.util.stream.Collectors.joining;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.shardflake.Suggestion;
import picocli.CommandLine;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.MutuallyExclusiveArgsException;
import picocli.CommandLine.OverwrittenOptionException;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Rewords the parser's messages about an invalid command line. */
final class ParserErrors {

    /** The number of suggestions beyond which a list would be no help. */
    private static final int MOST_PLACES = 3;

    private ParserErrors() {}

    static String message(ParameterException e) {
        if (e instanceof UnmatchedArgumentException unmatched) {
            String word = word(unmatched);
            return word.startsWith("-")
                    ? "unknown option %s".formatted(word)
                    : "%s \"%s\"".formatted(hasCommands(e) ? "unknown command" : "unexpected argument", word);
        }
        String said = String.valueOf(e.getMessage());
        if (said.contains("(specify one of these): ")) {
            return "missing: one of %s"
                    .formatted(said.replaceFirst(".*: \\(?", "")
                            .replaceFirst("\\)$", "")
                            .replace(" | ", ", "));
        }
        if (e instanceof MissingParameterException missing
                && !missing.getMissing().isEmpty()) {
            List<ArgSpec> lacking = missing.getMissing();
            if (said.startsWith("Missing required parameter for option")) {
                ArgSpec option = lacking.get(0);
                return "%s needs a value: %s".formatted(name(option), option.paramLabel());
            }
            return "missing: %s"
                    .formatted(lacking.stream().map(ParserErrors::usage).collect(joining(", ")));
        }
        if (e instanceof MutuallyExclusiveArgsException) {
            return "only one of %s can be given"
                    .formatted(
                            said.replaceFirst(" are mutually exclusive.*", "").replaceFirst("^Error: ", ""));
        }
        ArgSpec argument = e.getArgSpec();
        if (e instanceof OverwrittenOptionException twice) {
            return "%s is given more than once".formatted(name(twice.getOverwritten()));
        }
        if (said.startsWith("Invalid value for ") && argument != null) {
            return "%s: %s".formatted(name(argument), reason(said.replaceFirst("^[^:]*: ", "")));
        }
        String message = said.replaceFirst("^Error: ", "");
        return message.substring(0, 1).toLowerCase(Locale.ROOT) + message.substring(1);
    }

    /** Rewords Java's message about an invalid number. */
    private static String reason(String said) {
        String number = said.replaceFirst("^'(.*)' is not an? (?:int|long|short|byte|float|double)$", "$1");
        if (number.equals(said)) {
            return said;
        }
        boolean isWhole = said.endsWith("int") || said.endsWith("long");
        return isWhole && number.matches("[+-]?\\d+")
                ? "'%s' is too large".formatted(number)
                : "'%s' is not a %snumber".formatted(number, isWhole ? "whole " : "");
    }

    static String hint(ParameterException e) {
        CommandLine command = e.getCommandLine();
        return e instanceof UnmatchedArgumentException unmatched
                ? suggestion(command, word(unmatched))
                        .map("did you mean %s?"::formatted)
                        .orElseGet(() -> see(command))
                : see(command);
    }

    private static String see(CommandLine command) {
        return "see %s --help".formatted(command.getCommandSpec().qualifiedName());
    }

    private static Optional<String> suggestion(CommandLine command, String word) {
        if (word.startsWith("-")) {
            return Suggestion.find(
                    word,
                    command.getCommandSpec().options().stream()
                            .filter(option -> !option.hidden())
                            .map(OptionSpec::longestName)
                            .filter(name -> name.startsWith("--"))
                            .toList());
        }
        String prefix = command.getCommandSpec().qualifiedName() + " ";
        return Suggestion.find(word, command.getSubcommands().keySet())
                .map(prefix::concat)
                .or(() -> places(command.getCommandSpec().root().commandLine(), word));
    }

    /** The groups that have a command of this name: people type {@code deploy} for {@code schema deploy}. */
    private static Optional<String> places(CommandLine root, String word) {
        List<String> places = new ArrayList<>();
        for (Map.Entry<String, CommandLine> group : root.getSubcommands().entrySet()) {
            CommandLine command = group.getValue().getSubcommands().get(word);
            if (command != null) {
                places.add(command.getCommandSpec().qualifiedName());
            }
        }
        return places.isEmpty() || places.size() > MOST_PLACES
                ? Optional.empty()
                : Optional.of(String.join(" or ", places));
    }

    private static boolean hasCommands(ParameterException e) {
        return !e.getCommandLine().getSubcommands().isEmpty();
    }

    private static String word(UnmatchedArgumentException e) {
        String first = e.getUnmatched().get(0);
        return first.startsWith("--") ? first.replaceFirst("=.*", "") : first;
    }

    private static String name(ArgSpec argument) {
        return argument instanceof OptionSpec option ? option.longestName() : argument.paramLabel();
    }

    private static String usage(ArgSpec argument) {
        return argument instanceof OptionSpec option && option.arity().max() > 0
                ? option.longestName() + " " + option.paramLabel()
                : name(argument);
    }
}
