/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.config;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.CliException;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/**
 * Where options have their values from that are not on the command line: an environment variable, {@code SHARDFLAKE_CATALOG}
 * for {@code --catalog}, or else {@code shardflake.yaml} in the working directory.
 *
 * <p>The file is read when first needed. Not thread-safe.
 */
public final class Settings {

    /** The options that can be set this way: what is the same for all commands of an installation. */
    public static final List<String> NAMES = List.of(
            "catalog",
            "local",
            "output",
            "changelog",
            "search-path",
            "contexts",
            "labels",
            "lock-timeout",
            "statement-timeout",
            "pause",
            "patience",
            "rate",
            "max-lag");

    /** Names the file, if it is not in the working directory. */
    public static final String FILE_VARIABLE = "SHARDFLAKE_CONFIG";

    private static final String FILE = "shardflake.yaml";

    private final Map<String, String> environment;
    private @Nullable Map<String, String> file;

    public Settings(Map<String, String> environment) {
        this.environment = environment;
    }

    /**
     * The value of an option, if it is set.
     *
     * @throws CliException if the file cannot be read, or has something else in it
     */
    public Optional<Setting> find(String name) {
        if (!NAMES.contains(name)) {
            return Optional.empty();
        }
        String value = environment.get(variable(name));
        if (value != null && !value.isBlank()) {
            return Optional.of(new Setting(name, value, "environment variable " + variable(name)));
        }
        String inFile = file().get(name);
        return Optional.ofNullable(inFile).map(text -> new Setting(name, text, path().toString()));
    }

    /** The environment variable of an option. */
    public static String variable(String name) {
        return "SHARDFLAKE_" + name.toUpperCase(Locale.ROOT).replace('-', '_');
    }

    private Path path() {
        return Path.of(environment.getOrDefault(FILE_VARIABLE, FILE));
    }

    private Map<String, String> file() {
        Map<String, String> known = file;
        if (known == null) {
            known = read();
            file = known;
        }
        return known;
    }

    private Map<String, String> read() {
        Path path = path();
        if (!Files.exists(path)) {
            if (environment.containsKey(FILE_VARIABLE)) {
                throw CliException.usage("%s names %s, which is not there".formatted(FILE_VARIABLE, path));
            }
            return Map.of();
        }
        try (InputStream in = Files.newInputStream(path)) {
            Object content = new Load(LoadSettings.builder().build()).loadFromInputStream(in);
            return content == null ? Map.of() : values(path, content);
        } catch (YamlEngineException e) {
            throw CliException.usage("%s is not YAML: %s".formatted(path, e.getMessage()));
        } catch (IOException e) {
            throw CliException.usage("cannot read %s: %s".formatted(path, e.getMessage()));
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
            if (!NAMES.contains(String.valueOf(name))) {
                throw CliException.usage(
                        "%s has %s, which is no setting; there are %s".formatted(path, name, String.join(", ", NAMES)));
            }
            if (value instanceof Map || value instanceof Iterable || value == null) {
                throw CliException.usage("%s: %s takes one value".formatted(path, name));
            }
            values.put(name.toString(), value.toString());
        });
        return values;
    }
}
