/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.common.ScalarStyle;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.Tag;
import org.snakeyaml.engine.v2.representer.StandardRepresenter;

/** Writes maps, collections and plain values as YAML in block style, strings always in quotes. */
public final class YamlWriter {

    private static final DumpSettings SETTINGS = DumpSettings.builder()
            .setDefaultFlowStyle(FlowStyle.BLOCK)
            .setIndentWithIndicator(true)
            .setIndicatorIndent(2)
            .setDereferenceAliases(true)
            .build();

    private YamlWriter() {}

    /** The YAML, with each line terminated. */
    public static String write(@Nullable Object value) {
        return new Dump(SETTINGS, new Quoting()).dumpToString(value);
    }

    /** Quotes strings, and names that need it: older YAML readers take {@code no} for a boolean. */
    private static final class Quoting extends StandardRepresenter {

        private static final Pattern NAME = Pattern.compile("[A-Za-z_](?:[\\w. -]*[\\w.-])?");
        private static final Set<String> WORDS = Set.of("true", "false", "yes", "no", "on", "off", "y", "n", "null");

        Quoting() {
            super(SETTINGS);
            representers.put(String.class, text -> representScalar(Tag.STR, (String) text, ScalarStyle.DOUBLE_QUOTED));
        }

        @Override
        protected NodeTuple representMappingEntry(Map.Entry<?, ?> entry) {
            String name = String.valueOf(entry.getKey());
            boolean plain = NAME.matcher(name).matches() && !WORDS.contains(name.toLowerCase(Locale.ROOT));
            return new NodeTuple(
                    representScalar(Tag.STR, name, plain ? ScalarStyle.PLAIN : ScalarStyle.DOUBLE_QUOTED),
                    representData(entry.getValue()));
        }
    }
}
