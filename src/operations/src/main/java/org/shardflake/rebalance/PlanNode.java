/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.rebalance.RebalancePlan.Change;

/** A mapping in a plan's file, and what messages call it. */
final class PlanNode {

    private final String name;
    private final Map<String, @Nullable Object> properties = new LinkedHashMap<>();

    PlanNode(String name, @Nullable Object value) {
        this.name = name;
        if (!(value instanceof Map<?, ?> map)) {
            throw new IllegalArgumentException("%s must be a mapping of names to values".formatted(name));
        }
        map.forEach((key, property) -> properties.put(String.valueOf(key), property));
    }

    void allow(String... known) {
        for (String property : properties.keySet()) {
            if (!List.of(known).contains(property)) {
                throw new IllegalArgumentException("%s has an unknown property %s; known are %s"
                        .formatted(name, property, String.join(", ", known)));
            }
        }
    }

    Iterable<String> names() {
        return properties.keySet();
    }

    private Object required(String property) {
        Object value = properties.get(property);
        if (value == null) {
            throw new IllegalArgumentException("%s has no %s".formatted(name, property));
        }
        return value;
    }

    PlanNode child(String property) {
        return new PlanNode(property, required(property));
    }

    /** The mappings of a list, called by what one of them is and its number from 1. */
    List<PlanNode> children(String property, String each) {
        if (!(required(property) instanceof List<?> list)) {
            throw new IllegalArgumentException("%s of %s must be a list".formatted(property, name));
        }
        List<PlanNode> children = new ArrayList<>();
        list.forEach(value -> children.add(new PlanNode(each + " " + (children.size() + 1), value)));
        return children;
    }

    String text(String property) {
        return required(property).toString();
    }

    long number(String property) {
        return number(property, Long.MAX_VALUE);
    }

    long number(String property, long max) {
        String text = text(property);
        try {
            long value = Long.parseLong(text);
            if (value >= 0 && value <= max) {
                return value;
            }
        } catch (NumberFormatException e) {
            // Said below, as for a number out of range.
        }
        throw new IllegalArgumentException(
                "%s of %s is %s, not a number in 0..%d".formatted(property, name, text, max));
    }

    Change change(String property) {
        return new Change(number(property + "Before"), number(property + "After"));
    }

    ShardSet shards(String property) {
        try {
            return ShardSet.parse(text(property));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("%s of %s: %s".formatted(property, name, e.getMessage()), e);
        }
    }
}
