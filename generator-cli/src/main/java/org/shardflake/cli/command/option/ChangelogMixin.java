/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.error.CliException;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.flyway.FlywayOrder;
import picocli.CommandLine.Option;

/** The options that name a changelog. */
public final class ChangelogMixin {

    private static final String FLYWAY = "flyway:";

    @Option(
            names = "--changelog",
            paramLabel = "FILE",
            required = true,
            description =
                    "The changelog: XML, YAML, JSON or formatted SQL, written as for one schema; or flyway:DIRECTORY,"
                            + " a directory of Flyway's SQL migrations.")
    private Path changelog;

    @Option(
            names = "--search-path",
            paramLabel = "DIR",
            description = "Directory to search for the changelog's includes (default: the working directory if the"
                    + " changelog is below it, otherwise the changelog's own).")
    private @Nullable Path searchPath;

    /** The changelog's file, or the directory of Flyway's migrations. */
    public Path file() {
        return file(changelog);
    }

    /** Settings for this changelog, or for Flyway's migrations. */
    public DeploySettings settings(DeploySettings settings, FlywayOrder order) {
        return settings(changelog, settings, order);
    }

    /** The given file or directory, without the prefix that marks Flyway's migrations. */
    public static Path file(Path given) {
        if (!isFlyway(given)) {
            return given;
        }
        String directory = given.toString().substring(FLYWAY.length());
        if (directory.isEmpty()) {
            throw CliException.usage(
                    "%s lacks the directory of the migrations, as in flyway:db/migration".formatted(given));
        }
        return Path.of(directory);
    }

    /** Settings for the given changelog. */
    public static DeploySettings settings(Path given, DeploySettings settings, FlywayOrder order) {
        return isFlyway(given) ? settings.withFlyway(order) : settings;
    }

    private static boolean isFlyway(Path given) {
        return given.toString().startsWith(FLYWAY);
    }

    public Path searchPath() {
        return searchPath != null ? searchPath : searchPath(changelog);
    }

    /** The default directory for a changelog's includes. */
    public static Path searchPath(Path changelog) {
        Path absolute = changelog.toAbsolutePath().normalize();
        Path directory = absolute.getParent();
        if (directory == null || absolute.startsWith(Path.of("").toAbsolutePath())) {
            return Path.of("");
        }
        return directory;
    }
}
