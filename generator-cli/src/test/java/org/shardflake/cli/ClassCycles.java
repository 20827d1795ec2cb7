/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The groups of classes that depend on each other in circles, by Tarjan's algorithm. A nested class counts as the class around it. */
final class ClassCycles {

    private final Map<String, Set<String>> uses;
    private final Map<String, Integer> numbers = new HashMap<>();
    private final Map<String, Integer> lowest = new HashMap<>();
    private final Deque<String> path = new ArrayDeque<>();
    private final List<Set<String>> groups = new ArrayList<>();

    private ClassCycles(Map<String, Set<String>> uses) {
        this.uses = uses;
    }

    /** The largest group: all of its classes lead to each other. */
    static Set<String> largest(JavaClasses classes) {
        ClassCycles cycles = new ClassCycles(uses(classes));
        for (String name : cycles.uses.keySet()) {
            if (!cycles.numbers.containsKey(name)) {
                cycles.visit(name);
            }
        }
        return cycles.groups.stream()
                .max(Comparator.comparingInt(Collection::size))
                .orElseThrow();
    }

    private static Map<String, Set<String>> uses(JavaClasses classes) {
        Map<String, Set<String>> uses = new TreeMap<>();
        for (JavaClass from : classes) {
            Set<String> used = uses.computeIfAbsent(outermost(from), name -> new TreeSet<>());
            from.getDirectDependenciesFromSelf().stream()
                    .map(dependency -> dependency.getTargetClass().getBaseComponentType())
                    .filter(to -> classes.contain(to.getName()))
                    .forEach(to -> used.add(outermost(to)));
        }
        return uses;
    }

    private static String outermost(JavaClass type) {
        String name = type.getName();
        int nested = name.indexOf('$');
        return nested < 0 ? name : name.substring(0, nested);
    }

    private void visit(String name) {
        int number = numbers.size();
        numbers.put(name, number);
        lowest.put(name, number);
        path.push(name);
        for (String used : uses.getOrDefault(name, Set.of())) {
            if (!numbers.containsKey(used)) {
                visit(used);
                lowest.merge(name, lowest.getOrDefault(used, number), Math::min);
            } else if (path.contains(used)) {
                lowest.merge(name, numbers.getOrDefault(used, number), Math::min);
            }
        }
        if (lowest.getOrDefault(name, number) == number) {
            Set<String> group = new TreeSet<>();
            while (numbers.getOrDefault(path.peek(), -1) >= number) {
                group.add(path.pop());
            }
            groups.add(group);
        }
    }
}
