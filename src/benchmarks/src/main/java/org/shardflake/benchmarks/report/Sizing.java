/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The amounts that a program measures: numbers with defaults for the whole run, which system properties change. It keeps whether one was made
 * smaller. Not thread-safe.
 */
public final class Sizing {

    private final String modules;
    private final String program;
    private final String prefix;
    private boolean isShort;

    /**
     * Sizes that are all as in a whole run.
     *
     * @param modules that have to be built, as Maven's {@code -pl} takes them
     * @param program the name of the class with {@code main}
     * @param prefix of the properties, with the dot: {@code moves.}
     */
    public Sizing(String modules, String program, String prefix) {
        this.modules = modules;
        this.program = program;
        this.prefix = prefix;
    }

    /**
     * A number from the property with this name, or the default.
     *
     * @throws IllegalArgumentException if it is not a number from 1 up
     */
    public int number(String name, int whole) {
        return number(name, whole, 1);
    }

    /**
     * A number from the property with this name, or the default.
     *
     * @throws IllegalArgumentException if it is not a number from {@code least} up
     */
    public int number(String name, int whole, int least) {
        int number = numbers(name, List.of(whole)).get(0);
        if (number < least) {
            throw new IllegalArgumentException(
                    "%s%s is %d; it has to be %d at least".formatted(prefix, name, number, least));
        }
        return number;
    }

    /**
     * Numbers from the property with this name, separated by commas, or the defaults.
     *
     * @throws IllegalArgumentException if they are not numbers from 1 up
     */
    public List<Integer> numbers(String name, List<Integer> whole) {
        String text = System.getProperty(prefix + name);
        if (text == null) {
            return whole;
        }
        List<Integer> given = parse(prefix + name, text);
        isShort |= given.size() < whole.size() || max(given) < max(whole);
        return given;
    }

    private static List<Integer> parse(String property, String text) {
        if (!text.matches("[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*")) {
            throw new IllegalArgumentException("%s is %s; it has to be numbers from 1 up".formatted(property, text));
        }
        return Arrays.stream(text.split(",")).map(Integer::valueOf).toList();
    }

    private static int max(List<Integer> numbers) {
        return numbers.stream().mapToInt(Integer::intValue).max().orElse(0);
    }

    /** Whether a size is below that of a whole run, so that figures mean little. */
    public boolean isShort() {
        return isShort;
    }

    /** The command that measures so much. */
    public String command() {
        return "./mvnw -q -Dquick -DskipTests -pl %s -am verify -Dbenchmark=%s".formatted(modules, program)
                + System.getProperties().stringPropertyNames().stream()
                        .filter(name -> name.startsWith(prefix) || name.equals("postgres.version"))
                        .sorted()
                        .map(name -> " -D%s=%s".formatted(name, System.getProperty(name)))
                        .collect(Collectors.joining());
    }
}
