/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.config;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;

/**
 * The values of options that are not on the command line: from an environment variable, {@code SHARDFLAKE_CATALOG} for {@code --catalog}, or
 * else from {@code shardflake.yaml} in the working directory.
 *
 * <p>The file is read when first needed. Not thread-safe.
 */
public final class Settings {

    /** The options that can be set in this way: those that are the same for all commands of an installation. */
    public static final List<String> NAMES = List.of(
            "catalog",
            "local",
            "output",
            "password-command",
            "changelog",
            "search-path",
            "contexts",
            "labels",
            "lock-timeout",
            "statement-timeout",
            "pause",
            "patience",
            "rate",
            "max-lag",
            "id-key-file",
            "epoch");

    /** The environment variable that names the file if it is not in the working directory. */
    public static final String FILE_VARIABLE = "SHARDFLAKE_CONFIG";

    private static final String FILE = "shardflake.yaml";

    private final Map<String, String> environment;
    private @Nullable Map<String, String> file;

    public Settings(Map<String, String> environment) {
        this.environment = environment;
    }

    /**
     * The value of an option, if one is set.
     *
     * @throws CliException if the file cannot be read, or contains anything else
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

    /** The name of an option's environment variable. */
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
                throw CliException.usage("%s names %s, which does not exist".formatted(FILE_VARIABLE, path));
            }
            return Map.of();
        }
        if (!environment.containsKey(FILE_VARIABLE)) {
            requireOwn(path, "%s=%s uses it anyway".formatted(FILE_VARIABLE, path));
        }
        return SettingsFile.read(path);
    }

    /** Whether a setting was found in the current directory, rather than chosen by the user. */
    public boolean isFound(Setting setting) {
        return switch (setting.origin()) {
            case FILE -> !environment.containsKey(FILE_VARIABLE);
            default ->
                setting.origin().startsWith("local cluster in ")
                        && find("local").isEmpty();
        };
    }

    /**
     * Refuses a file or directory that someone else owns or that anyone may write, since it decides which servers receive this user's password.
     */
    public static void requireOwn(Path path, String hint) {
        Optional<String> stranger = Owner.stranger(path);
        if (stranger.isPresent()) {
            throw new CliException(Kind.PRECONDITION, "%s is not used: %s".formatted(path, stranger.get()), hint);
        }
    }
}
