/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.yaml;

import java.util.List;
import java.util.Optional;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/** Finds the line numbers of a file's properties, for messages. */
public final class YamlLines {

    private YamlLines() {}

    /**
     * The number of a property's line, from 1, or of the nearest line above it that the file has.
     *
     * @param yaml a text that can be read as YAML
     * @param path the names of the property and of those above it; an element of a list is its number from 1
     */
    public static int find(String yaml, List<String> path) {
        Optional<Node> node = new Compose(LoadSettings.builder().build()).composeString(yaml);
        int line = 1;
        for (String name : path) {
            if (node.isEmpty()) {
                break;
            }
            if (node.get() instanceof MappingNode mapping) {
                Optional<NodeTuple> property = mapping.getValue().stream()
                        .filter(tuple -> tuple.getKeyNode() instanceof ScalarNode key
                                && key.getValue().equals(name))
                        .findFirst();
                line = property.map(NodeTuple::getKeyNode).map(YamlLines::line).orElse(line);
                node = property.map(NodeTuple::getValueNode);
            } else if (node.get() instanceof SequenceNode list
                    && name.matches("\\d{1,9}")
                    && Integer.parseInt(name) <= list.getValue().size()) {
                node = Optional.of(list.getValue().get(Integer.parseInt(name) - 1));
                line = line(node.get());
            } else {
                break;
            }
        }
        return line;
    }

    private static int line(Node node) {
        return node.getStartMark().map(Mark::getLine).orElse(0) + 1;
    }
}
