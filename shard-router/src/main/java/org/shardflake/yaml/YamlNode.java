/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.yaml;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/** A mapping in a file, with its name in messages. Anything invalid raises an {@link IllegalArgumentException}. */
public final class YamlNode {

    private final String name;
    private final Map<String, @Nullable Object> properties = new LinkedHashMap<>();

    private YamlNode(String name, @Nullable Object value) {
        this.name = name;
        if (!(value instanceof Map<?, ?> map)) {
            throw new IllegalArgumentException("%s must be a mapping of names to values".formatted(name));
        }
        map.forEach((key, property) -> properties.put(String.valueOf(key), property));
    }

    /**
     * Reads the text of a file.
     *
     * @param label the text's name in YAML's own messages
     */
    public static YamlNode parse(String yaml, String label) {
        return new YamlNode("the file", load(yaml, label));
    }

    /**
     * Reads the text of a file, without checks of its content.
     *
     * @param label the text's name in YAML's own messages
     */
    public static @Nullable Object load(String yaml, String label) {
        try {
            return new Load(LoadSettings.builder().setLabel(label).build()).loadFromString(yaml);
        } catch (YamlEngineException e) {
            throw new IllegalArgumentException("it is not YAML: " + e.getMessage(), e);
        } catch (StackOverflowError e) { // The parser calls itself for each level.
            throw new IllegalArgumentException("it is nested too deeply to be read", e);
        }
    }

    /** The mapping's name in messages. */
    public String name() {
        return name;
    }

    /** Refuses all properties except the known ones. */
    public void allow(String... known) {
        for (String property : properties.keySet()) {
            if (!List.of(known).contains(property)) {
                throw new IllegalArgumentException("%s has an unknown property %s; known are %s"
                        .formatted(name, property, String.join(", ", known)));
            }
        }
    }

    /** The names of the properties, in the order of the file. */
    public Iterable<String> names() {
        return properties.keySet();
    }

    public boolean has(String property) {
        return properties.containsKey(property);
    }

    private Object required(String property) {
        Object value = properties.get(property);
        if (value == null) {
            throw new IllegalArgumentException("%s has no %s".formatted(name, property));
        }
        return value;
    }

    /** A property that is a mapping. */
    public YamlNode child(String property) {
        return new YamlNode(property, required(property));
    }

    /** The mappings of a list, each named {@code each} and its number from 1. */
    public List<YamlNode> children(String property, String each) {
        if (!(required(property) instanceof List<?> list)) {
            throw new IllegalArgumentException("%s of %s must be a list".formatted(property, name));
        }
        List<YamlNode> children = new ArrayList<>();
        list.forEach(value -> children.add(new YamlNode(each + " " + (children.size() + 1), value)));
        return children;
    }

    public String text(String property) {
        return required(property).toString();
    }

    /** A property that is a mapping of names to texts, which may be missing. */
    public Map<String, String> texts(String property) {
        Map<String, String> texts = new LinkedHashMap<>();
        if (has(property)) {
            YamlNode child = child(property);
            child.names().forEach(key -> texts.put(key, child.text(key)));
        }
        return texts;
    }

    /** A property that is a number from 0 to {@code max}. */
    public long number(String property, long max) {
        return number(property + " of " + name, text(property), max);
    }

    /** Reads a number from 0 to {@code max} from a text that is not a property. */
    public static long number(String what, String text, long max) {
        try {
            long value = Long.parseLong(text);
            if (value >= 0 && value <= max) {
                return value;
            }
        } catch (NumberFormatException e) {
            // Reported below, as for a number out of range.
        }
        throw new IllegalArgumentException("%s is %s, not a number in 0..%s".formatted(what, text, max));
    }
}
