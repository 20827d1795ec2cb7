/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A mapping in the file of a plan. Anything invalid raises an {@link InvalidPlanException} with its path. */
final class PlanNode {

    private final List<String> path;
    private final Map<String, @Nullable Object> properties = new LinkedHashMap<>();

    private PlanNode(List<String> path, @Nullable Object value) {
        this.path = path;
        if (!(value instanceof Map<?, ?> map)) {
            throw new InvalidPlanException(path, "must be a mapping of names to values");
        }
        map.forEach((key, property) -> properties.put(String.valueOf(key), property));
    }

    static PlanNode root(@Nullable Object value) {
        return new PlanNode(List.of(), value);
    }

    /** The name of this mapping in its parent. */
    String name() {
        return path.get(path.size() - 1);
    }

    /** The name of this mapping in its parent, which is a table's name. */
    TableName tableName() {
        return parsed(path, name(), TableName::parse);
    }

    /** Refuses all properties except the known ones. */
    PlanNode allow(String... known) {
        for (String property : properties.keySet()) {
            if (!List.of(known).contains(property)) {
                throw invalid(property, "is not known; known here are %s".formatted(String.join(", ", known)));
            }
        }
        return this;
    }

    boolean has(String property) {
        return properties.containsKey(property);
    }

    PlanNode child(String property) {
        return new PlanNode(below(property), required(property));
    }

    /** The mappings within this mapping. */
    List<PlanNode> children() {
        return properties.keySet().stream().map(this::child).toList();
    }

    /** The mappings of a list. */
    List<PlanNode> list(String property) {
        List<PlanNode> children = new ArrayList<>();
        for (Object element : elements(property)) {
            List<String> at = new ArrayList<>(below(property));
            at.add(String.valueOf(children.size() + 1));
            children.add(new PlanNode(at, element));
        }
        return children;
    }

    private List<?> elements(String property) {
        if (required(property) instanceof List<?> list) {
            return list;
        }
        throw invalid(property, "must be a list");
    }

    /** A text that must be one of the known ones. */
    String one(String property, String... known) {
        String text = String.valueOf(required(property));
        if (!List.of(known).contains(text)) {
            throw invalid(property, "is %s, not one of %s".formatted(text, String.join(", ", known)));
        }
        return text;
    }

    /** Requires a property to have this number. */
    void require(String property, int number) {
        Object value = required(property);
        if (!value.equals(number)) {
            throw invalid(property, "is %s, and this shardflake reads %s".formatted(value, number));
        }
    }

    String text(String property) {
        return text(below(property), required(property));
    }

    private static String text(List<String> at, @Nullable Object value) {
        if (value instanceof String text && !text.isBlank()) {
            return text;
        }
        throw new InvalidPlanException(at, "is %s, and must be a text; write it in quotes".formatted(value));
    }

    /** A list of at least one text. */
    List<String> texts(String property) {
        List<String> texts = new ArrayList<>();
        for (Object element : elements(property)) {
            texts.add(text(below(property), element));
        }
        if (texts.isEmpty()) {
            throw invalid(property, "is empty; name at least one");
        }
        return texts;
    }

    boolean isTrue(String property) {
        if (required(property) instanceof Boolean value) {
            return value;
        }
        throw invalid(property, "is %s, not one of true, false".formatted(properties.get(property)));
    }

    TableName table(String property) {
        return parsed(below(property), text(property), TableName::parse);
    }

    String column(String property) {
        return parsed(below(property), text(property), TableName::parseColumn);
    }

    List<String> columns(String property) {
        return texts(property).stream()
                .map(text -> parsed(below(property), text, TableName::parseColumn))
                .toList();
    }

    private static <T> T parsed(List<String> at, String text, Function<String, T> parser) {
        try {
            return parser.apply(text);
        } catch (IllegalArgumentException e) {
            throw new InvalidPlanException(at, "is wrong: " + e.getMessage());
        }
    }

    private Object required(String property) {
        Object value = properties.get(property);
        if (value == null) {
            throw invalid(property, "is missing; write it");
        }
        return value;
    }

    InvalidPlanException invalid(String property, String message) {
        return new InvalidPlanException(below(property), message);
    }

    private List<String> below(String property) {
        List<String> below = new ArrayList<>(path);
        below.add(property);
        return below;
    }
}
