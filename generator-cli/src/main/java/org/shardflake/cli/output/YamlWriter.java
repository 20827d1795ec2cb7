/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import org.jspecify.annotations.Nullable;

/** Writes maps, collections and plain values as YAML in block style, strings always in quotes. */
public final class YamlWriter {

    private static final ObjectMapper MAPPER = new ObjectMapper(YAMLFactory.builder()
            .disable(YAMLGenerator.Feature.WRITE_DOC_START_MARKER)
            .enable(YAMLGenerator.Feature.INDENT_ARRAYS_WITH_INDICATOR)
            .build());

    private YamlWriter() {}

    /** The YAML, each line ended. */
    public static String write(@Nullable Object value) {
        return JsonWriter.write(MAPPER, value);
    }
}
