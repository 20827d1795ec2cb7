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

/**
 * The commands that the page shows and may have run. The page names them by a number, so that it can ask for no other. Thread-safe.
 */
final class RunnableCommands {

    private final Predicate<String> canRun;
    private final Map<String, Collection<String>> shown = new HashMap<>();
    private final Map<String, String> numbers = new TreeMap<>();

    /**
     * @param canRun whether a command can be run from the page
     */
    RunnableCommands(Predicate<String> canRun) {
        this.canRun = canRun;
    }

    /** A number that cannot be guessed. */
    static String random() {
        return RequestGuard.random(16);
    }

    /** Takes the commands that a part of the page shows now. A command that returns later has another number. */
    synchronized void show(String part, Collection<String> commands) {
        shown.put(part, commands);
        Set<String> all =
                Set.copyOf(shown.values().stream().flatMap(Collection::stream).toList());
        numbers.keySet().retainAll(all);
        all.stream()
                .filter(command -> !numbers.containsKey(command))
                .filter(canRun)
                .forEach(command -> numbers.put(command, random()));
    }

    /** The numbers by the commands. */
    synchronized Map<String, Object> all() {
        return new TreeMap<>(numbers);
    }

    /** The command with this number, if it is still shown. */
    synchronized Optional<String> find(String number) {
        return numbers.entrySet().stream()
                .filter(offer -> offer.getValue().equals(number))
                .map(Map.Entry::getKey)
                .findFirst();
    }

    /** The commands in facts of the page, which has each as a text, or as a text with what it does. */
    static List<String> in(List<Map<String, Object>> facts) {
        List<String> commands = new ArrayList<>();
        for (Map<String, Object> fact : facts) {
            for (Object command : (List<?>) fact.getOrDefault("commands", List.of())) {
                commands.add(String.valueOf(command instanceof Map<?, ?> named ? named.get("command") : command));
            }
        }
        return commands;
    }
}
