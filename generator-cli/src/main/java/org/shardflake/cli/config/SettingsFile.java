/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.yaml.YamlNode;

/** Reads settings from YAML, in a separate class so that the library is loaded only if there is a file. */
final class SettingsFile {

    private SettingsFile() {}

    /**
     * Reads the values, by option name.
     *
     * @throws CliException if the file cannot be read, or contains anything else
     */
    static Map<String, String> read(Path path) {
        try {
            Object content = YamlNode.load(Files.readString(path), path.toString());
            return content == null ? Map.of() : values(path, content);
        } catch (IllegalArgumentException e) {
            throw CliException.usage("%s: %s".formatted(path, e.getMessage()));
        } catch (IOException e) {
            throw CliException.usage("cannot read %s: %s".formatted(path, FileFailure.reason(e)));
        }
    }

    private static Map<String, String> values(Path path, Object content) {
        if (!(content instanceof Map<?, ?> map)) {
            throw CliException.usage(
                    "%s has to be a list of names and values, such as catalog: postgresql://app@db1/app"
                            .formatted(path));
        }
        Map<String, String> values = new LinkedHashMap<>();
        map.forEach((name, value) -> {
            if (!Settings.NAMES.contains(String.valueOf(name))) {
                throw CliException.usage("%s has %s, which is not a setting; settings are %s"
                        .formatted(path, name, String.join(", ", Settings.NAMES)));
            }
            if (value instanceof Map || value instanceof Iterable || value == null) {
                throw CliException.usage("%s: %s takes one value".formatted(path, name));
            }
            values.put(name.toString(), value.toString());
        });
        return values;
    }
}
