/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.console;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.shardflake.CliCommand;

/** The commands that the page shows and may run. The page names them by a number, so that it can ask for no other. Thread-safe. */
final class RunnableCommands {

    private final Predicate<CliCommand> canRun;
    private final Map<String, Collection<ShownCommand>> shown = new HashMap<>();
    private final Map<ShownCommand, String> numbers = new HashMap<>();

    /**
     * @param canRun whether a command can be run from the page
     */
    RunnableCommands(Predicate<CliCommand> canRun) {
        this.canRun = canRun;
    }

    /** A number that cannot be guessed, for naming a command. */
    static String random() {
        return RequestGuard.random(16);
    }

    /** Sets the commands that a part of the page shows now. A command that returns later has another number. */
    synchronized void show(String part, Collection<ShownCommand> commands) {
        shown.put(part, commands);
        Set<ShownCommand> all =
                Set.copyOf(shown.values().stream().flatMap(Collection::stream).toList());
        numbers.keySet().retainAll(all);
        all.stream()
                .filter(command -> !numbers.containsKey(command))
                .filter(command -> canRun.test(command.command()))
                .forEach(command -> numbers.put(command, random()));
    }

    /** The numbers of all shown commands, by command. */
    synchronized Map<String, Object> all() {
        Map<String, Object> all = new TreeMap<>();
        numbers.forEach((command, number) -> all.put(command.text(), number));
        return all;
    }

    /** The command with this number, if it is still shown. */
    synchronized Optional<ShownCommand> find(String number) {
        return numbers.entrySet().stream()
                .filter(offer -> offer.getValue().equals(number))
                .map(Map.Entry::getKey)
                .findFirst();
    }

    /** The commands in the page's facts, which contain each alone or with its effect. */
    static List<ShownCommand> in(List<Map<String, Object>> facts) {
        List<ShownCommand> commands = new ArrayList<>();
        for (Map<String, Object> fact : facts) {
            for (Object command : (List<?>) fact.getOrDefault("commands", List.of())) {
                commands.add((ShownCommand) (command instanceof Map<?, ?> named ? named.get("command") : command));
            }
        }
        return commands;
    }
}
