/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shardflake.yaml.YamlNode;

/** The part of JSON Schema, draft 7, that our schema uses; any other keyword is an error. */
final class JsonSchema {

    private static final Set<String> ANNOTATIONS = Set.of("$schema", "title", "description", "definitions");

    private final Map<?, ?> root;

    JsonSchema(String text) {
        root = (Map<?, ?>) Objects.requireNonNull(YamlNode.load(text, "schema"));
    }

    boolean accepts(@Nullable Object value) {
        return accepts(root, value);
    }

    private boolean accepts(Object schema, @Nullable Object value) {
        if (schema instanceof Boolean accepted) {
            return accepted;
        }
        Map<?, ?> keywords = (Map<?, ?>) schema;
        return keywords.entrySet().stream()
                .allMatch(keyword -> holds(String.valueOf(keyword.getKey()), keyword.getValue(), keywords, value));
    }

    private boolean holds(String keyword, Object operand, Map<?, ?> siblings, @Nullable Object value) {
        return switch (keyword) {
            case "type" -> hasType(String.valueOf(operand), value);
            case "const" -> operand.equals(value);
            case "enum" -> ((List<?>) operand).contains(value);
            case "pattern" ->
                !(value instanceof String text)
                        || Pattern.compile(String.valueOf(operand))
                                .matcher(text)
                                .find();
            case "minItems" -> !(value instanceof List<?> list) || list.size() >= (Integer) operand;
            case "items" -> !(value instanceof List<?> list) || list.stream().allMatch(one -> accepts(operand, one));
            case "required" ->
                isMapping(value, map -> ((List<?>) operand).stream().allMatch(map::containsKey));
            case "properties" ->
                isMapping(
                        value,
                        map -> ((Map<?, ?>) operand)
                                .entrySet().stream()
                                        .allMatch(one -> !map.containsKey(one.getKey())
                                                || accepts(one.getValue(), map.get(one.getKey()))));
            case "additionalProperties" ->
                isMapping(
                        value,
                        map -> map.entrySet().stream()
                                .allMatch(one -> (siblings.get("properties") instanceof Map<?, ?> known
                                                && known.containsKey(one.getKey()))
                                        || accepts(operand, one.getValue())));
            case "propertyNames" ->
                isMapping(value, map -> map.keySet().stream().allMatch(name -> accepts(operand, name)));
            case "oneOf" ->
                ((List<?>) operand).stream().filter(one -> accepts(one, value)).count() == 1;
            case "anyOf" -> ((List<?>) operand).stream().anyMatch(one -> accepts(one, value));
            case "not" -> !accepts(operand, value);
            case "$ref" -> accepts(definition(String.valueOf(operand)), value);
            default -> {
                if (!ANNOTATIONS.contains(keyword)) {
                    throw new IllegalStateException("keyword " + keyword);
                }
                yield true;
            }
        };
    }

    private static boolean isMapping(@Nullable Object value, Predicate<Map<?, ?>> holds) {
        return !(value instanceof Map<?, ?> map) || holds.test(map);
    }

    private static boolean hasType(String type, @Nullable Object value) {
        return switch (type) {
            case "object" -> value instanceof Map;
            case "array" -> value instanceof List;
            case "string" -> value instanceof String;
            case "boolean" -> value instanceof Boolean;
            default -> throw new IllegalStateException("type " + type);
        };
    }

    private Object definition(String reference) {
        Object definition = ((Map<?, ?>) Objects.requireNonNull(root.get("definitions")))
                .get(reference.replace("#/definitions/", ""));
        if (definition == null) {
            throw new IllegalStateException(reference);
        }
        return definition;
    }
}
