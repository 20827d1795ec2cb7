/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.StreamSupport;
import org.shardflake.cli.command.option.ServerNames;
import picocli.CommandLine;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** The completion script for fish, which picocli does not provide. */
final class FishCompletion {

    private static final String BEFORE = """
            # Completion of shardflake in fish: shardflake completion fish | source
            set -g __shardflake_commands %s

            function __shardflake_at -d 'Whether this command has been typed, with options or without'
                set -l words (commandline -opc)
                set -l typed
                for word in $words[2..-1]
                    string match -q -- '-*' $word; and continue
                    contains -- (string join ' ' -- $typed $word) $__shardflake_commands; or break
                    set -a typed $word
                end
                test "$typed" = "$argv"
            end

            complete -c shardflake -f
            """;

    private final StringBuilder script = new StringBuilder();
    private final List<String> commands = new ArrayList<>();

    private FishCompletion() {}

    static String of(CommandLine all) {
        FishCompletion fish = new FishCompletion();
        fish.add("", all);
        return BEFORE.formatted(String.join(
                        " ", fish.commands.stream().map(FishCompletion::quote).toList()))
                + fish.script;
    }

    private void add(String path, CommandLine command) {
        CommandSpec spec = command.getCommandSpec();
        String condition = quote(("__shardflake_at " + path).strip());
        command.getSubcommands().forEach((name, below) -> {
            CommandSpec its = below.getCommandSpec();
            if (!its.usageMessage().hidden()) {
                line(condition, "-a " + name, its.usageMessage().description());
            }
        });
        for (OptionSpec option : spec.options()) {
            if (!option.hidden()) {
                line(condition, words(option), option.description());
            }
        }
        spec.positionalParameters().stream()
                .filter(parameter -> parameter.completionCandidates() != null)
                .forEach(parameter -> line(condition, candidates(parameter), parameter.description()));
        command.getSubcommands().forEach((name, below) -> {
            String whole = (path + " " + name).strip();
            commands.add(whole);
            add(whole, below);
        });
    }

    private static String words(OptionSpec option) {
        StringBuilder words = new StringBuilder();
        for (String name : option.names()) {
            words.append(name.startsWith("--") ? " -l " + name.substring(2) : " -s " + name.substring(1));
        }
        if (option.arity().max() > 0) {
            boolean isFile = option.typeInfo().getType() == java.nio.file.Path.class;
            words.append(isFile ? " -r -F" : " -x " + candidates(option));
        }
        return words.toString().strip();
    }

    private static String candidates(ArgSpec argument) {
        Iterable<String> candidates = argument.completionCandidates();
        if (candidates == null) {
            return "";
        }
        List<String> values =
                StreamSupport.stream(candidates.spliterator(), false).toList();
        return "-a "
                + quote(
                        values.contains(ServerNames.PLACEHOLDER)
                                ? "(shardflake server names 2>/dev/null | string split ' ')"
                                : String.join(" ", values));
    }

    private void line(String condition, String what, String[] description) {
        String text = description.length == 0 ? "" : description[0].replaceFirst("(?s)(?<=[a-z)])[.:;] .*|\\.$", "");
        script.append("complete -c shardflake -n %s %s -d %s%n".formatted(condition, what.strip(), quote(text)));
    }

    private static String quote(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
