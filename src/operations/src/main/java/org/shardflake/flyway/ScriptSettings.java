/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.flyway;

import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.Charset;
import java.nio.charset.IllegalCharsetNameException;
import java.nio.charset.StandardCharsets;
import java.nio.charset.UnsupportedCharsetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Properties;

/**
 * The settings in a script's own configuration file, {@code V1__x.sql.conf}.
 *
 * @param fillsIn whether placeholders have values
 */
record ScriptSettings(Optional<Boolean> inTransaction, boolean fillsIn, Charset charset) {

    private static final String IN_TRANSACTION = "executeInTransaction";
    private static final String FILLS_IN = "placeholderReplacement";
    private static final String ENCODING = "encoding";

    /**
     * Reads the settings of a script.
     *
     * @throws IllegalArgumentException if there is something else in it, or a value that is not allowed
     */
    static ScriptSettings of(Path script) throws IOException {
        Path file = script.resolveSibling(script.getFileName() + ".conf");
        Properties settings = new Properties();
        if (Files.exists(file)) {
            settings.load(new StringReader(Files.readString(file).replace("\\", "\\\\")));
        }
        for (String name : settings.stringPropertyNames()) {
            if (name.equals("shouldExecute")) {
                throw new IllegalArgumentException("%s has shouldExecute, and shards have all migrations: leave it out"
                        .formatted(file.getFileName()));
            }
            if (!name.equals(IN_TRANSACTION) && !name.equals(FILLS_IN) && !name.equals(ENCODING)) {
                throw new IllegalArgumentException("%s has %s; known are %s, %s and %s"
                        .formatted(file.getFileName(), name, IN_TRANSACTION, FILLS_IN, ENCODING));
            }
            if (settings.getProperty(name).contains("${")) {
                throw new IllegalArgumentException(
                        "%s has a placeholder in %s: write the value".formatted(file.getFileName(), name));
            }
        }
        try {
            return new ScriptSettings(
                    value(settings, IN_TRANSACTION),
                    value(settings, FILLS_IN).orElse(true),
                    Charset.forName(settings.getProperty(ENCODING, StandardCharsets.UTF_8.name())));
        } catch (IllegalCharsetNameException | UnsupportedCharsetException e) {
            throw new IllegalArgumentException(
                    "%s names encoding %s, which Java does not know"
                            .formatted(file.getFileName(), settings.getProperty(ENCODING)),
                    e);
        }
    }

    private static Optional<Boolean> value(Properties settings, String name) {
        String value = settings.getProperty(name);
        if (value == null) {
            return Optional.empty();
        }
        if (!value.equals("true") && !value.equals("false")) {
            throw new IllegalArgumentException("%s is %s, allowed: true, false".formatted(name, value));
        }
        return Optional.of(Boolean.valueOf(value));
    }
}
